/**
 * Edited answers: turns a recorded answer and a change into the deliveries that a fork serves. Only
 * reads tapes.
 */
export { answerPayload, requestPayload } from './answer-payload.js'
export { checkAnswer, missingClosing } from './edited-body.js'
export { plainAnswer } from './answer-payload.js'
export {
  editedAnswer,
  type EditedAnswer,
  type EditedDelivery,
  type EditOptions,
} from './edited-answer.js'
export { drawPayload, editedDraw, editedFile, filePayload } from './edited-answer.js'
export { payloadBytes, type Payload } from './answer-payload.js'
export { keyText, parsePath, pathText, readPath, type PathKey } from './set-path.js'
export { getPath, parseSet, setPath } from './set-path.js'
export { wholeResponse } from './answer-payload.js'
