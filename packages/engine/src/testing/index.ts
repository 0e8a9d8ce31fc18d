/**
 * The test kit: a scripted model server that speaks the wire formats of all known providers. A
 * separate entry point, so that agents that load the engine do not load it.
 */
export { startModelServer, type ModelServer, type ModelServerOptions } from './model-server.js'
export type { Format, ModelRequest, PlainMessage } from './model-request.js'
export type {
  AnswerCondition,
  Finish,
  ScriptedAnswer,
  ScriptedError,
  ScriptedToolCall,
  ScriptedUsage,
} from './script.js'
