/** A text process in which some jobs hang or end the process. The first text of a job says what it does. */
import { linesOf } from '../../src/analysis/analyze/lines.ts'

for await (const line of linesOf(Bun.stdin.stream())) {
  const [text] = JSON.parse(line).input.texts
  if (text === 'hang') for (;;);
  if (text === 'exit') process.exit(1)
  console.log(
    JSON.stringify(text === 'fail' ? { error: 'RangeError' } : { value: [text, String(process.pid)] }),
  )
}
