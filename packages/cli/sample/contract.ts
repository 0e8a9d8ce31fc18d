/** Act two: a tool that promised JSON, on a day when its service answers with a page. */
import { guard } from 'retake'

const answers = ['{"temperature": 21}', '{"temperature": "21 C"}', '<h1>Down for maintenance</h1>']

const run = guard({ name: 'contract' })
run.tool('weather', ({ day }: { day: number }) => answers[day], {
  output: {
    kind: 'json',
    schema: {
      type: 'object',
      properties: { temperature: { type: 'number' } },
      required: ['temperature'],
    },
  },
})

for (const day of answers.keys()) {
  const { status, output, drift } = await run.call('weather', { day })
  console.log(`day ${day}: ${status}`, ...(status === 'done' ? [output] : []))
  for (const { code, path, expected, found } of drift)
    console.log(`  ${code}${path && ` at ${path}`}: ${expected} expected, ${found} found`)
}
