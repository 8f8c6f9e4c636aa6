/** Whether the recorder can be reached, for `earshot doctor`. */
import type { Config } from '../../kernel/config.ts'
import type { SendOutbound } from '../../platform/net/outbound-request.ts'
import { createRecorder } from './recorders/create.ts'
import { failingForGood } from './recorders/http.ts'

/** Looks for the bot of a join that never was, which costs nothing. @returns null without a recorder */
export async function examineRecorder(
  { recorder: settings, meetings }: Pick<Config, 'recorder' | 'meetings'>,
  send: SendOutbound,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly detail: string } | null> {
  if (settings === null) return null
  const recorder = createRecorder(settings, { send, deadlineMs: meetings.callSeconds * 1_000 })
  const [platform] = recorder.platforms
  if (platform === undefined) return null
  const join = {
    joinId: crypto.randomUUID(),
    meetingUrl: 'https://meet.google.com/abc-defg-hij',
    platform,
    botName: 'doctor',
    joinAt: null,
    nudgeUrl: null,
  }
  const server = `${settings.name} at ${new URL(settings.url).host}`
  try {
    await failingForGood(recorder.find(join, signal))
    return { ok: true, detail: server }
  } catch (error) {
    const reason = String((error as Error).message)
    const remedy = reason.includes('the key')
      ? 'Correct RECORDER_API_KEY'
      : 'Start it, correct RECORDER_URL, or allow its private address in OUTBOUND_ALLOW'
    return { ok: false, detail: `${server}: ${reason}. ${remedy}` }
  }
}
