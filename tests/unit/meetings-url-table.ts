/** Links as people paste them, with the identity that each must have. `null`: refused, with a part of the reason. */

const THREAD = '19%3ameeting_MmYwNWE4YjQtZmE1Ny00ZWI5LTg0YzEtMjU3ZDA0MmE5NGQ1%40thread.v2'
const TENANT = '7f2b6c1e-3d54-4a8b-9c0d-5e6f7a8b9c0d'
const ORGANIZER = 'c1a2b3d4-e5f6-4708-91a2-b3c4d5e6f708'
const CONTEXT = `%7b%22Tid%22%3a%22${TENANT}%22%2c%22Oid%22%3a%22${ORGANIZER}%22%7d`
const LONG = `https://teams.microsoft.com/l/meetup-join/${THREAD}/0?context=${CONTEXT}`
const LONG_ID = `teams:19:meeting_MmYwNWE4YjQtZmE1Ny00ZWI5LTg0YzEtMjU3ZDA0MmE5NGQ1@thread.v2:${TENANT}`
const CHANNEL = '19%3a6fb3f5e1b1c64a3fb7c3a9d1f6a7b8c9%40thread.tacv2'
const CHANNEL_ID = `teams:19:6fb3f5e1b1c64a3fb7c3a9d1f6a7b8c9@thread.tacv2:${TENANT}`

const COORDS = Buffer.from(
  JSON.stringify({
    conversationId: '19:meeting_MmYwNWE4YjQtZmE1Ny00ZWI5LTg0YzEtMjU3ZDA0MmE5NGQ1@thread.v2',
    tenantId: TENANT,
    organizerId: ORGANIZER,
    messageId: '0',
  }),
).toString('base64')

const enc = encodeURIComponent
const safe = (url: string) =>
  `https://eur02.safelinks.protection.outlook.com/?url=${enc(url)}&data=05%7C02%7Cann%40acme.example%7C3f6d&sdata=Zk%2Bq%3D&reserved=0`
const v1 = (url: string) =>
  `https://urldefense.proofpoint.com/v1/url?u=${enc(url)}&k=oIvRg1%2BdGAgOoM1BIlLLqw%3D%3D`
const v2 = (url: string) =>
  `https://urldefense.proofpoint.com/v2/url?u=${enc(url).replaceAll('-', '%2D').replaceAll('_', '%5F').replaceAll('%', '-').replaceAll('-2F', '_')}&d=DwMFAg&c=euGZstcaTDllvimEN8b7jXrwqOf-v5A_CdpgnVfiiMM&r=abc`
const v3 = (url: string) => `https://urldefense.com/v3/__${url}__;!!PtGJab4!7mFGq8yFu3$`
const google = (url: string) =>
  `https://www.google.com/url?q=${enc(url)}&sa=D&source=calendar&ust=1764000000000000&usg=AOvVaw1`
/** What Teams' light client names a meeting by, as its pages write it. */
const light = (coordinates: object, asJson = JSON.stringify) => enc(btoa(asJson(coordinates)))
const nested = (count: number, url: string): string => (count === 0 ? url : nested(count - 1, safe(url)))

/** [link, identity] */
export const MEETINGS: readonly (readonly [link: string, identity: string])[] = [
  // Zoom: a number
  ['https://zoom.us/j/1234567890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/123456789', 'zoom:commercial:123456789'],
  ['https://us02web.zoom.us/j/86423571980?pwd=RkdaQlZmMzB1d0VtT2tJb0xqZz09', 'zoom:commercial:86423571980'],
  ['https://us06web.zoom.us/j/86423571980?pwd=aBcDeF123456.1', 'zoom:commercial:86423571980'],
  ['https://acme.zoom.us/j/95512345678?pwd=Y2tK&from=addon', 'zoom:commercial:95512345678'],
  ['https://ACME.Zoom.US/j/95512345678', 'zoom:commercial:95512345678'],
  ['https://acme-gmbh.zoom.com/j/95512345678', 'zoom:commercial:95512345678'],
  ['https://zoom.com/j/95512345678/', 'zoom:commercial:95512345678'],
  ['https://www.zoom.us/j/95512345678', 'zoom:commercial:95512345678'],
  ['http://zoom.us/j/95512345678', 'zoom:commercial:95512345678'],
  ['zoom.us/j/95512345678', 'zoom:commercial:95512345678'],
  ['us04web.zoom.us/j/95512345678?pwd=abc', 'zoom:commercial:95512345678'],
  ['https://zoom.us/w/98765432101?tk=iv0Yq7Nn.DQMAAAA&pwd=x1', 'zoom:commercial:98765432101'],
  ['https://zoom.us/s/1234567890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/s/1234567890?zak=eyJ0eXAiOiJKV1QiLCJzdiI6IjAwMDAwMSJ9', 'zoom:commercial:1234567890'],
  ['https://zoom.us/wc/join/1234567890', 'zoom:commercial:1234567890'],
  ['https://app.zoom.us/wc/1234567890/join?pwd=abc&fromPWA=1', 'zoom:commercial:1234567890'],
  ['https://zoom.us/wc/1234567890/start', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890?pwd=abc#success', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/123%20456%207890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/123-456-7890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890?uname=Ann%20Lee&omn=91234567890', 'zoom:commercial:1234567890'],
  ['https://acme.zoomgov.com/j/1612345678', 'zoom:gov:1612345678'],
  ['https://www.zoomgov.com/j/1612345678?pwd=QUJD', 'zoom:gov:1612345678'],
  ['https://zoom.com.cn/j/1612345678', 'zoom:cn:1612345678'],
  ['https://acme.zoom.com.cn/j/1612345678', 'zoom:cn:1612345678'],
  ['https://acme.zoom-x.de/j/61234567890?pwd=QUJD.1', 'zoom:commercial:61234567890'],
  ['zoommtg://zoom.us/join?action=join&confno=1234567890&pwd=abc', 'zoom:commercial:1234567890'],
  ['zoommtg://acme.zoom.us/join?confno=1234567890&zc=0', 'zoom:commercial:1234567890'],
  ['zoomus://zoom.us/join?confno=1234567890', 'zoom:commercial:1234567890'],
  // Zoom: a personal link
  ['https://acme.zoom.us/my/ann.lee', 'zoom:https://acme.zoom.us/my/ann.lee'],
  ['https://acme.zoom.us/my/Ann.Lee?pwd=abc', 'zoom:https://acme.zoom.us/my/ann.lee'],
  ['https://zoom.us/my/support-team/', 'zoom:https://zoom.us/my/support-team'],
  // Meet
  ['https://meet.google.com/abc-defg-hij', 'google_meet:abc-defg-hij'],
  ['http://meet.google.com/abc-defg-hij', 'google_meet:abc-defg-hij'],
  ['meet.google.com/abc-defg-hij', 'google_meet:abc-defg-hij'],
  ['https://MEET.google.com/ABC-DEFG-HIJ', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abcdefghij', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/_meet/abc-defg-hij', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/_meet/abc-defg-hij?ijlm=1764000000000&hs=187', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abc-defg-hij?authuser=0', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abc-defg-hij?authuser=ann%40acme.example&pli=1', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abc-defg-hij?hs=122&pijlm=1', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abc-defg-hij/', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/lookup/weekly-sync', 'google_meet:https://meet.google.com/lookup/weekly-sync'],
  [
    'https://meet.google.com/lookup/Weekly-Sync?authuser=1',
    'google_meet:https://meet.google.com/lookup/weekly-sync',
  ],
  ['https://g.co/meet/weekly-sync', 'google_meet:https://g.co/meet/weekly-sync'],
  // Teams: long
  [LONG, LONG_ID],
  [LONG.replace('%3a', '%3A').replace('%40', '@'), LONG_ID],
  [LONG.replace('19%3a', '19:'), LONG_ID],
  [LONG.replace('19%3a', '19%253a').replace('%40', '%2540'), LONG_ID],
  [LONG.replace('19%3a', '19%25253a').replace('%40', '%252540'), LONG_ID],
  [LONG.replace('teams.microsoft.com', 'Teams.Microsoft.Com'), LONG_ID],
  [LONG.replace('teams.microsoft.com', 'teams.cloud.microsoft'), LONG_ID],
  [LONG.replace('teams.microsoft.com', 'teams.live.com'), LONG_ID],
  [`${LONG}&anon=true&deeplinkId=251e9ce4-ef63-44dd-9115-a2d528b9ad46`, LONG_ID],
  [`https://teams.microsoft.com/l/meetup-join/${THREAD}/0?anon=true&context=${CONTEXT}`, LONG_ID],
  [`https://teams.microsoft.com/l/meetup-join/${THREAD}?context=${CONTEXT}`, LONG_ID],
  [LONG.replace('https:', 'msteams:').replace('//teams.microsoft.com', ''), LONG_ID],
  [
    `https://teams.microsoft.com/l/meetup-join/${THREAD}/0?context=${enc(enc(decodeURIComponent(CONTEXT)))}`,
    LONG_ID,
  ],
  [LONG.replace(TENANT, TENANT.toUpperCase()), LONG_ID],
  [LONG.replace('thread.v2', 'thread.skype'), LONG_ID.replace('thread.v2', 'thread.skype')],
  [
    `https://teams.microsoft.com/l/meetup-join/${CHANNEL}/1689061234567?context=${CONTEXT}`,
    `${CHANNEL_ID}:1689061234567`,
  ],
  [
    `https://teams.microsoft.com/l/meetup-join/${CHANNEL}/1689069999999?context=${CONTEXT}`,
    `${CHANNEL_ID}:1689069999999`,
  ],
  [`https://teams.microsoft.com/l/meetup-join/${CHANNEL}/0?context=${CONTEXT}`, CHANNEL_ID],
  [`https://teams.microsoft.com/l/meetup-join/${THREAD}/0`, LONG_ID.slice(0, -TENANT.length - 1)],
  // Teams: wrapped by its own pages
  [
    `https://teams.microsoft.com/v2/?meetingjoin=true#/l/meetup-join/${THREAD}/0?context=${CONTEXT}&anon=true`,
    LONG_ID,
  ],
  [`https://teams.microsoft.com/_#/l/meetup-join/${THREAD}/0?context=${CONTEXT}`, LONG_ID],
  [
    `https://teams.microsoft.com/dl/launcher/launcher.html?url=${enc(`/_#/l/meetup-join/${THREAD}/0?context=${CONTEXT}&anon=true`)}&type=meetup-join&deeplinkId=1&directDl=true`,
    LONG_ID,
  ],
  [
    `https://teams.microsoft.com/dl/launcher/launcher.html?url=${enc(enc(`/_#/l/meetup-join/${THREAD}/0?context=${CONTEXT}`))}&type=meetup-join`,
    LONG_ID,
  ],
  [
    `https://teams.microsoft.com/light-meetings/launch?agent=web&version=24&coords=${enc(COORDS)}&deeplinkId=2`,
    LONG_ID,
  ],
  [`https://teams.live.com/light-meetings/launch?coords=${enc(COORDS)}`, LONG_ID],
  [
    `https://teams.microsoft.com/light-meetings/launch?coords=${light({ conversationId: THREAD.replace('%3a', ':').replace('%40', '@'), tenantId: TENANT }, (value) => enc(JSON.stringify(value)))}`,
    LONG_ID,
  ],
  [
    `https://teams.live.com/light-meetings/launch?p=aB&anon=true&coords=${light({ meetingCode: '9345678901234', passcode: 'aBcDeFgH' })}`,
    'teams:live:9345678901234',
  ],
  [
    `https://teams.microsoft.com/light-meetings/launch?coords=${light({ meetingCode: 2345678901234 })}&p=aB`,
    'teams:work:2345678901234',
  ],
  [
    `https://teams.microsoft.com/light-meetings/launch?coords=${light({ meetingCode: '9345678901234' })}&fqdn=teams.live.com`,
    'teams:live:9345678901234',
  ],
  [
    'https://teams.live.com/dl/launcher/launcher.html?url=%2F_%23%2Fmeet%2F2345678901234%3Fp%3DaB&type=meet&fqdn=teams.microsoft.com',
    'teams:work:2345678901234',
  ],
  [
    'https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fmeet%2F9345678901234%3Fp%3DaB%26fqdn%3Dteams.live.com&type=meet',
    'teams:live:9345678901234',
  ],
  [
    `https://teams.microsoft.com/dl/launcher/launcher.html?url=${enc(`/_#/l/meetup-join/${THREAD}/0?context=${CONTEXT}`)}&fqdn=gov.teams.microsoft.us`,
    LONG_ID.replace('teams:', 'teams:gov:'),
  ],
  ['https://teams.microsoft.com/meet/2345678901234?p=aB&fqdn=evil.example', 'teams:work:2345678901234'],
  // Teams: short
  ['https://teams.microsoft.com/meet/2345678901234?p=aBcDeFgHiJkLmNoP', 'teams:work:2345678901234'],
  ['https://teams.microsoft.com/meet/2345678901234', 'teams:work:2345678901234'],
  ['https://teams.cloud.microsoft/meet/2345678901234?p=aBcDeFgHiJkLmNoP', 'teams:work:2345678901234'],
  [
    'https://teams.microsoft.com/v2/?meetingjoin=true#/meet/2345678901234?p=aBcDeFgH&anon=true',
    'teams:work:2345678901234',
  ],
  [
    'https://teams.microsoft.com/dl/launcher/launcher.html?url=%2F_%23%2Fmeet%2F2345678901234%3Fp%3DaBcDeFgH%26anon%3Dtrue&type=meet',
    'teams:work:2345678901234',
  ],
  ['https://teams.live.com/meet/9345678901234?p=aBcDeFgH', 'teams:live:9345678901234'],
  ['https://TEAMS.live.com/meet/9345678901234?p=aBcDeFgH', 'teams:live:9345678901234'],
  ['https://gov.teams.microsoft.us/meet/2345678901234?p=aBcDeFgH', 'teams:gov:2345678901234'],
  ['https://dod.teams.microsoft.us/meet/2345678901234?p=aBcDeFgH', 'teams:dod:2345678901234'],
  [LONG.replace('teams.microsoft.com', 'gov.teams.microsoft.us'), LONG_ID.replace('teams:', 'teams:gov:')],
  [LONG.replace('teams.microsoft.com', 'dod.teams.microsoft.us'), LONG_ID.replace('teams:', 'teams:dod:')],
  // Webex
  [
    'https://acme.webex.com/acme/j.php?MTID=m0123456789abcdef0123456789abcdef',
    'webex:acme:m0123456789abcdef0123456789abcdef',
  ],
  [
    'https://ACME.webex.com/acme/j.php?MTID=M0123456789ABCDEF0123456789ABCDEF',
    'webex:acme:m0123456789abcdef0123456789abcdef',
  ],
  [
    'https://acme.webex.com/acme/j.php?mtid=m0123456789abcdef0123456789abcdef&launchApp=true',
    'webex:acme:m0123456789abcdef0123456789abcdef',
  ],
  [
    'https://acme-emea.webex.com/acme-emea/j.php?MTID=m0123456789abcdef0123456789abcdef',
    'webex:acme-emea:m0123456789abcdef0123456789abcdef',
  ],
  [
    'https://acme.my.webex.com/acme.my/j.php?MTID=m0123456789abcdef0123456789abcdef',
    'webex:acme.my:m0123456789abcdef0123456789abcdef',
  ],
  ['https://acme.webex.com/meet/ann.lee', 'webex:acme:room:ann.lee'],
  ['https://acme.webex.com/meet/Ann.Lee', 'webex:acme:room:ann.lee'],
  ['https://acme.webex.com/join/ann.lee', 'webex:acme:room:ann.lee'],
  ['https://meet1234.webex.com/meet/pr27605551234', 'webex:meet1234:room:pr27605551234'],
  [
    'https://acme.webex.com/wbxmjs/joinservice/sites/acme/meeting/download/0123456789abcdef0123456789abcdef?siteurl=acme&MTID=m0123456789abcdef0123456789abcdef',
    'webex:acme:m0123456789abcdef0123456789abcdef',
  ],
  [
    'https://acme.webex.com/wbxmjs/joinservice/sites/acme/meeting/download/0123456789abcdef0123456789abcdef',
    'webex:acme:0123456789abcdef0123456789abcdef',
  ],
  [
    'https://acme.webex.com/webappng/sites/acme/meeting/info/0123456789abcdef0123456789abcdef?isPopupRegisterView=true',
    'webex:acme:0123456789abcdef0123456789abcdef',
  ],
  [
    'https://acme.webex.com/webappng/sites/acme/meeting/download/0123456789abcdef0123456789abcdef?MTID=m0123456789abcdef0123456789abcdef',
    'webex:acme:m0123456789abcdef0123456789abcdef',
  ],
  ['https://acme.webex.com/acme/m.php?AT=JM&MK=25551234567', 'webex:acme:25551234567'],
  [
    'https://meetings.webex.com/collabs/meetings/join?uuid=M4HV1OZ2YJZ5PQXW0WQ6RTW5R8-3QR7',
    'webex:meetings:m4hv1oz2yjz5pqxw0wq6rtw5r8-3qr7',
  ],
  // Wrapped by mail programs
  [safe('https://zoom.us/j/1234567890?pwd=abc.1'), 'zoom:commercial:1234567890'],
  [safe('https://meet.google.com/abc-defg-hij'), 'google_meet:abc-defg-hij'],
  [safe(LONG), LONG_ID],
  [
    safe('https://acme.webex.com/acme/j.php?MTID=m0123456789abcdef0123456789abcdef'),
    'webex:acme:m0123456789abcdef0123456789abcdef',
  ],
  [safe(LONG).replace('eur02.', 'nam11.').replace('/?url', '/ap/t-59584e83/?url'), LONG_ID],
  [
    safe(LONG).replace('eur02.safelinks.protection.outlook.com', 'gcc02.safelinks.protection.office365.us'),
    LONG_ID,
  ],
  [
    `https://statics.teams.cdn.office.net/evergreen-assets/safelinks/1/atp-safelinks.html?url=${enc('https://zoom.us/j/1234567890')}&locale=en-us`,
    'zoom:commercial:1234567890',
  ],
  [v1('https://zoom.us/j/1234567890?pwd=abc'), 'zoom:commercial:1234567890'],
  [v1(LONG), LONG_ID],
  [v2('https://zoom.us/j/1234567890?pwd=a-b_c'), 'zoom:commercial:1234567890'],
  [v2('https://meet.google.com/abc-defg-hij'), 'google_meet:abc-defg-hij'],
  [v2(LONG), LONG_ID],
  [v3('https://zoom.us/j/1234567890?pwd=abc'), 'zoom:commercial:1234567890'],
  [v3('https:/zoom.us/j/1234567890?pwd=abc'), 'zoom:commercial:1234567890'],
  [v3('https://acme.webex.com/meet/ann.lee'), 'webex:acme:room:ann.lee'],
  [v3(LONG), LONG_ID],
  // `*` stands for one byte, `**B` for three.
  [v3('https://zoom.us/j/1234567890?pwd=a*success').replace('__;', '__;Iw'), 'zoom:commercial:1234567890'],
  [
    v3('https://teams.microsoft.com/v2/?meetingjoin=true*/meet/2345678901234?p=abc').replace('__;', '__;Iw'),
    'teams:work:2345678901234',
  ],
  [
    v3('https://zoom.us/j/**B4567890').replace('__;', '__;MTIz'),
    'zoom:commercial:1234567890'.replace('1234567890', '1234567890'),
  ],
  [google('https://zoom.us/j/1234567890?pwd=abc'), 'zoom:commercial:1234567890'],
  [google('https://meet.google.com/abc-defg-hij').replace('www.', ''), 'google_meet:abc-defg-hij'],
  [
    google('https://teams.live.com/meet/9345678901234?p=aB').replace('q=', 'url='),
    'teams:live:9345678901234',
  ],
  [google(LONG).replace('www.google.com', 'www.google.co.uk'), LONG_ID],
  [safe(google('https://zoom.us/j/1234567890')), 'zoom:commercial:1234567890'],
  [v2(safe('https://zoom.us/j/1234567890')), 'zoom:commercial:1234567890'],
  [google(v1(safe(LONG))), LONG_ID],
  [nested(5, LONG), LONG_ID],
  // Damaged on the way
  ['<https://zoom.us/j/1234567890>', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890>', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890)', 'zoom:commercial:1234567890'],
  ['(https://zoom.us/j/1234567890).', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890.', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890%3E', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890%3e%29', 'zoom:commercial:1234567890'],
  ['"https://zoom.us/j/1234567890"', 'zoom:commercial:1234567890'],
  ['  https://zoom.us/j/1234567890\r\n', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/12345\r\n67890?pwd=abc', 'zoom:commercial:1234567890'],
  ['https://meet.google.com/abc-defg-hij&gt;', 'google_meet:abc-defg-hij'],
  ['https://zoom.us/j/1234567890?from=addon&amp;pwd=abc', 'zoom:commercial:1234567890'],
  ['https%3A%2F%2Fzoom.us%2Fj%2F1234567890%3Fpwd%3Dabc', 'zoom:commercial:1234567890'],
  ['https%253A%252F%252Fzoom.us%252Fj%252F1234567890', 'zoom:commercial:1234567890'],
  ['https:/zoom.us/j/1234567890', 'zoom:commercial:1234567890'],
  ['HTTPS://ZOOM.US/J/1234567890', 'zoom:commercial:1234567890'],
  ...['\u200b', '\u200e', '\ufeff', '\u2060', '\u00ad', '\u00a0', '\u2028', '\u202a', '\u3164'].flatMap(
    (character) =>
      [
        [`https://zoom.us/j/1234567890${character}`, 'zoom:commercial:1234567890'],
        [`${character}https://zoom.us/j/1234567890${character}`, 'zoom:commercial:1234567890'],
      ] as const,
  ),
  ['https://zoom.us/j/12345\u200b67890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890%E2%80%8B', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890%C2%A0', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890%EF%BB%BF', 'zoom:commercial:1234567890'],
  ['https://meet.google.com/abc\u2011defg\u2011hij', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abc%E2%80%91defg%E2%80%91hij', 'google_meet:abc-defg-hij'],
  ['https://meet.google.com/abc\u2013defg\u2010hij', 'google_meet:abc-defg-hij'],
  ['https://zoom.us/j/123\u2011456\u20117890', 'zoom:commercial:1234567890'],
  ...[
    '[]',
    '{}',
    '\u00ab\u00bb',
    '\u300a\u300b',
    '\uff08\uff09',
    '\u3010\u3011',
    '``',
    '||',
    '**',
    '__',
    '\u201e\u201c',
    '<(',
    '[<',
  ].map(
    ([open, close]) => [`${open}https://zoom.us/j/1234567890${close}`, 'zoom:commercial:1234567890'] as const,
  ),
  ['**https://zoom.us/j/1234567890**', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890\u3002', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890https://zoom.us/j/1234567890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890 https://zoom.us/j/1234567890', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890\nhttps://zoom.us/j/1234567890?pwd=a', 'zoom:commercial:1234567890'],
  ['https://zoom.us/j/1234567890<https://zoom.us/j/1234567890?pwd=a>', 'zoom:commercial:1234567890'],
  ['[https://zoom.us/j/1234567890](https://zoom.us/j/1234567890)', 'zoom:commercial:1234567890'],
  [
    '<https://meet.google.com/abc-defg-hij> <https://meet.google.com/abc-defg-hij>',
    'google_meet:abc-defg-hij',
  ],
  [`${LONG} <${safe(LONG)}>`, LONG_ID],
  [`${LONG}${LONG}`, LONG_ID],
  [`${LONG}>`, LONG_ID],
  [`${LONG}%3E`, LONG_ID],
  [`<${LONG.replace('?', '?anon=true&amp;')}>`, LONG_ID],
  [safe(LONG).replaceAll('&', '&amp;'), LONG_ID],
]

/** [link, a part of the reason] */
export const REFUSALS: readonly (readonly [link: string, reason: string])[] = [
  ['', 'is no URL'],
  ['   ', 'is no URL'],
  ['hello', 'is no URL'],
  ['https://', 'is no URL'],
  ['https://example.com/j/1234567890', 'is no link to a meeting of'],
  ['https://zoom.us.example.com/j/1234567890', 'is no link to a meeting of'],
  ['https://notzoom.us/j/1234567890', 'is no link to a meeting of'],
  ['https://zооm.us/j/1234567890', 'is no link to a meeting of'],
  ['https://meet.google.com.example.org/abc-defg-hij', 'is no link to a meeting of'],
  ['https://whereby.com/acme', 'is no link to a meeting of'],
  ['https://meet.jit.si/AcmeWeekly', 'is no link to a meeting of'],
  ['ftp://zoom.us/j/1234567890', 'must be an https link'],
  ['javascript:alert(1)', 'must be an https link'],
  ['https://ann:secret@zoom.us/j/1234567890', 'must not name a user'],
  ['https://zoom.us:8443/j/1234567890', 'must not name a user'],
  ['https://zoom.us/', 'is no link to a Zoom meeting'],
  ['https://zoom.us/join', 'is no link to a Zoom meeting'],
  ['https://zoom.us/j/', 'has no meeting number'],
  ['https://zoom.us/j/12345678', 'has no meeting number'],
  ['https://zoom.us/j/123456789012', 'has no meeting number'],
  ['https://zoom.us/j/abcdefghij', 'has no meeting number'],
  ['zoommtg://zoom.us/join?action=join', 'has no meeting number'],
  ['https://zoom.us/my/%3Cscript%3E', 'has no valid personal name'],
  ['https://events.zoom.us/ejl/AbCdEf', 'belongs to Zoom Events'],
  ['https://ev.zoom.com/AbCdEf', 'belongs to Zoom Events'],
  ['https://acme.zoom.us/meeting/register/tZ0qd-6pqz', 'is a registration page'],
  ['https://acme.zoom.us/webinar/register/WN_abc', 'is a registration page'],
  ['https://acme.zoom.us/rec/share/abc', 'is a Zoom recording'],
  ['https://meet.google.com/', 'has no meeting code'],
  ['https://meet.google.com/new', 'has no meeting code'],
  ['https://meet.google.com/landing', 'has no meeting code'],
  ['https://meet.google.com/abc-defg-hijk', 'has no meeting code'],
  ['https://meet.google.com/_meet/whoops', 'has no meeting code'],
  ['https://stream.meet.google.com/stream/12345678-abcd', 'is a live stream'],
  ['https://g.co/meet/', 'has no valid nickname'],
  ['https://g.co/kgs/abc', 'is no link to a meeting of'],
  ['https://teams.microsoft.com/', 'is no link to a Teams meeting'],
  ['https://teams.microsoft.com/l/channel/19%3aabc%40thread.tacv2/General', 'is no link to a Teams meeting'],
  ['https://teams.microsoft.com/l/meetup-join/nothing/0', 'has no valid meeting thread'],
  ['https://teams.microsoft.com/l/meetup-join/', 'has no valid meeting thread'],
  ['https://teams.microsoft.com/meet/123456789', 'has no meeting number'],
  ['https://teams.microsoft.com/meet/abc', 'has no meeting number'],
  ['https://teams.microsoft.com/light-meetings/launch?coords=e30=', 'has no valid meeting thread'],
  [
    `https://teams.microsoft.com/light-meetings/launch?coords=${btoa('{"conversationId":{"toString":1}}')}`,
    'has no valid meeting thread',
  ],
  ['https://acme.webex.com/', 'is no link to a Webex meeting'],
  ['https://acme.webex.com/acme/j.php', 'is no link to a Webex meeting'],
  ['https://acme.webex.com/acme/j.php?MTID=nope', 'is no link to a Webex meeting'],
  [
    'https://acme.webex.com/acme/globalcallin.php?MTID=m0123456789abcdef0123456789abcdef',
    'is a Webex recording',
  ],
  ['https://acme.webex.com/recordingservice/sites/acme/recording/0123456789abcdef', 'is a Webex recording'],
  ['https://acme.webex.com/webappng/sites/acme/recording/playback/0123456789abcdef', 'is a Webex recording'],
  ['https://protect-eu.mimecast.com/s/AbCdCoYxGsNKWnjTzQw?domain=zoom.us', 'hides the meeting'],
  ['https://url.us.m.mimecastprotect.com/s/AbCdCoYxGsNKWnjTzQw', 'hides the meeting'],
  ['https://bit.ly/3abcDEF', 'hides the meeting'],
  ['https://eur02.safelinks.protection.outlook.com/?data=05', 'is a damaged link of Safe Links'],
  ['https://urldefense.com/v3/__nothing', 'is a damaged link of Proofpoint'],
  ['https://urldefense.com/v3/__https://zoom.us/j/*__;!!abc', 'is a damaged link of Proofpoint'],
  [
    'https://urldefense.proofpoint.com/v2/url?u=https-3A__zoom.us_j_1-E0&d=x',
    'is a damaged link of Proofpoint',
  ],
  ['https://urldefense.proofpoint.com/v1/url?k=x', 'is a damaged link of Proofpoint'],
  ['https://www.google.com/url?sa=D', 'is a damaged link of Google'],
  ['https://www.google.com/search?q=zoom', 'is no link to a meeting of'],
  [nested(6, 'https://zoom.us/j/1234567890'), 'is wrapped more than five times'],
  ['https://zoom.us/j/1234567890?next=https://evil.example', 'contains another URL'],
  ['https://zoom.us/j/1234567890?next=https%3A%2F%2Fevil.example', 'contains another URL'],
  ['https://zoom.us/j/1234567890?next=https%253A%252F%252Fevil.example', 'contains another URL'],
  ['https://zoom.us/j/1234567890?next=https%25253A%25252F%25252Fevil.example', 'contains another URL'],
  ['https://zoom.us/j/1234567890#https://evil.example', 'contains another URL'],
  ['https://zoom.us/j/1234567890/https://evil.example/', 'contains another URL'],
  ['https://zoom.us/j/1234567890 <https://zoom.us/j/1234567891>', 'contains another URL'],
  ['https://zoom.us/j/1234567890 (https://evil.example/)', 'contains another URL'],
  ['https://evil.example/ https://zoom.us/j/1234567890', 'contains another URL'],
  ['https://zoom.us/j/1234567890https://zoom.us/j/1234567891', 'has no meeting number'],
  [
    `https://zoom.us/j/1234567890?x=${Buffer.from('https://evil.example').toString('base64')}`,
    'contains another URL',
  ],
  [
    `https://meet.google.com/abc-defg-hij?x=${Buffer.from(' https://evil.example').toString('base64url')}`,
    'contains another URL',
  ],
  [`${LONG}&url=https://evil.example`, 'contains another URL'],
  [`https://zoom.us/j/1234567890?pwd=${'a'.repeat(9_000)}`, 'has more than 8192 characters'],
]
