// Runs the refund graph up to the approval and then to its end, and prints its checkpoints.
import { Command } from '@langchain/langgraph'
import { TapeSaver } from 'retake/langgraph'
import { config, history, refundGraph } from './langgraph-refund.mjs'

const graph = refundGraph(new TapeSaver())
await graph.invoke(
  { messages: [{ role: 'user', content: 'Where is order 1182?', id: 'question' }] },
  config,
)
await graph.invoke(new Command({ resume: 'yes' }), config)
console.log(JSON.stringify(await history(graph)))
