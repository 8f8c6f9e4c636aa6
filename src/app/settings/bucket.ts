/** Settings of the S3 bucket that holds media. `settings-s3.ts` reads them. */
import { type Setting, text, url, WEB } from './kinds.ts'

export const BUCKET_SETTINGS = {
  S3_BUCKET: text(
    'name',
    'media in `DATA_DIR/media`',
    'Bucket for media. Several machines need one. Give it a rule that removes incomplete multipart uploads after seven days or more: an upload that waits for `earshot recording retry` may be incomplete, and the rule deletes it.',
  ),
  S3_ENDPOINT: url(WEB, 'Amazon S3', 'The S3 server. Players of recordings must reach it, too.'),
  S3_REGION: text(
    'name',
    '`AWS_REGION`, else `AWS_DEFAULT_REGION`, else `us-east-1`',
    'Region of the bucket.',
  ),
  AWS_REGION: text('name', 'none', 'Region if `S3_REGION` is not set.'),
  AWS_DEFAULT_REGION: text('name', 'none', 'Region if neither `S3_REGION` nor `AWS_REGION` is set.'),
  S3_FORCE_PATH_STYLE: {
    kind: 'choice',
    allowed: ['true', 'false'],
    shown: '`true` with `S3_ENDPOINT`, else `false`',
    text: 'Put the bucket into the path of URLs instead of the host name.',
  },
  S3_CHECKSUM: {
    kind: 'choice',
    allowed: ['md5', 'none'],
    default: 'md5',
    text: 'The checksum that is sent with everything that is stored (`Content-MD5`). Buckets with Object Lock refuse what has none, on many servers; `earshot doctor` finds it, `/ready` only where parts are refused, too. `none` is for servers that do not accept it.',
  },
  AWS_ACCESS_KEY_ID: text(
    'text',
    'what the AWS SDK finds',
    'Credentials for the bucket; `AWS_SECRET_ACCESS_KEY` must be set with it.',
  ),
  AWS_SECRET_ACCESS_KEY: text('text', 'none', 'The secret of `AWS_ACCESS_KEY_ID`.'),
  AWS_SESSION_TOKEN: text('text', 'none', 'The session token, if the credentials are temporary.'),
} as const satisfies Readonly<Record<string, Setting>>
