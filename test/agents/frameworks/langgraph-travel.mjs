// Goes back to checkpoints of a recorded run and on from there. Arguments: the tape, what to do.
import { Command } from '@langchain/langgraph'
import { answerFrom, replay } from 'retake'
import { TapeSaver } from 'retake/langgraph'
import { config, history, plain, refundGraph } from './langgraph-refund.mjs'

const [, , tape, what, at] = process.argv
const print = (value) => console.log(JSON.stringify(value))

const goOn = async (graph, from) => {
  await graph.invoke(null, from)
  const { next } = await graph.getState(config)
  if (next.length > 0) await graph.invoke(new Command({ resume: 'yes' }), config)
}

/** The states from the newest back to the one that it all began with, by parents. */
async function branch(graph, first) {
  const states = []
  let state = await graph.getState(config)
  for (; state.config.configurable.checkpoint_id !== first;) {
    states.push(plain(state))
    state = await graph.getState(state.parentConfig)
  }
  return states
}

const checkpoint = (id) => ({ configurable: { ...config.configurable, checkpoint_id: id } })

if (what === 'history') print(await history(refundGraph(new TapeSaver({ tape }))))

async function travelEverywhere() {
  const graph = refundGraph(new TapeSaver())
  const branches = {}
  for (const { id } of await history(graph)) {
    await goOn(graph, checkpoint(id))
    branches[id] = await branch(graph, id)
  }
  return branches
}

async function changeTheQuestion() {
  const graph = refundGraph(new TapeSaver())
  const messages = [{ role: 'user', content: 'And order 7?' }]
  const changed = await graph.updateState(checkpoint(at), { messages })
  await graph.invoke(null, changed)
  return (await graph.getState(config)).values.drafts
}

if (what === 'travel') {
  const { run, ...answered } = await answerFrom(tape, travelEverywhere)
  print({ ...answered, tape: run.path })
}
if (what === 'travel again') print((await replay(tape, travelEverywhere)).output)
if (what === 'change') {
  const { run: _, ...answered } = await answerFrom(tape, changeTheQuestion)
  print(answered)
}
if (what === 'change live') {
  const { run: _, ...answered } = await answerFrom(tape, changeTheQuestion, { otherwise: 'live' })
  print(answered)
}
