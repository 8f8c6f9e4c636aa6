/** The texts that `earshot licenses` prints. The executable contains them. */
import license from '../../LICENSE' with { type: 'text' }
import notice from '../../NOTICE' with { type: 'text' }
import thirdParty from '../../THIRD_PARTY_NOTICES.txt' with { type: 'text' }

export const licenses = { notice, license, thirdParty }
