// Records or replays many busy agents at once in this process. Its last line on
// stdout is JSON: what each came to.
//
//     node run-many.mjs '{"base":"http://…","record":{"dir":"…","markers":["a","b"]}}'
//     node run-many.mjs '{"base":"http://…","replay":[{"marker":"a","tape":"…"}]}'
import { record, replay } from '@retake/engine'
import { busyAgent } from './busy-agent.mjs'

const { base, record: recording, replay: replays = [] } = JSON.parse(process.argv[2])

const recordOne = async (marker) => {
  const { dir } = recording
  const { output, run } = await record({ name: marker, dir }, () => busyAgent(base, marker))
  return { marker, output, tape: run.path }
}

const replayOne = async ({ marker, tape }) => {
  try {
    const { output } = await replay(tape, () => busyAgent(base, marker))
    return { marker, output, tape }
  } catch (error) {
    return { marker, tape, error: String(error?.message) }
  }
}

const results = await Promise.all([
  ...(recording?.markers ?? []).map(recordOne),
  ...replays.map(replayOne),
])
console.log(`\n${JSON.stringify(results)}`)
// Connections that were kept open must not keep a test waiting.
process.exit()
