import { TapeSaver } from 'retake/langgraph'
import { jokes, thread } from './graph.mjs'

const graph = jokes(new TapeSaver())
await graph.invoke({}, thread)
for await (const { config, next, values } of graph.getStateHistory(thread))
  console.log(config.configurable.checkpoint_id, next, values)
