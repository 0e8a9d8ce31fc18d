// node travel.mjs <tape>: LangGraph's time travel, with the recorded run as its model.
import { answerFrom } from 'retake'
import { TapeSaver } from 'retake/langgraph'
import { jokes, thread } from './graph.mjs'

const [, , tape] = process.argv
const graph = jokes(new TapeSaver())

const { output, served, live } = await answerFrom(tape, async () => {
  const before = []
  for await (const state of graph.getStateHistory(thread)) before.push(state)
  const wrote = before.find(({ next }) => next[0] === 'write')
  // `write` and `improve` run again, as LangGraph documents it; the tape is asked, not a model.
  await graph.invoke(null, wrote.config)
  const now = await graph.getState(thread)
  return { recorded: before[0].values, now: now.values }
})
console.log(output)
console.log(`${served} requests answered by the tape, ${live} sent`)
