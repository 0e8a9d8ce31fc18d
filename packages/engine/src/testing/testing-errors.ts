import { RetakeError } from '../errors.js'

/** What is wrong with a script, and what goes wrong at the model server. Each code has a page in docs/errors. */
export const testingErrors = {
  scriptInvalid: (why: string) =>
    new RetakeError(
      'SCRIPT_INVALID',
      'The script of the model server cannot be used.',
      why,
      'An answer is an object with text, reasoning, toolCalls, usage, finish, error, delayMs, chunks, breakAfter or when; `retake docs testing` has examples.',
    ),
  scriptOver: (count: number) =>
    new RetakeError(
      'SCRIPT_OVER',
      'The script of the model server is over.',
      count === 0
        ? 'It has no answers.'
        : `${count === 1 ? 'Its only answer has' : `All its ${count} answers have`} been given.`,
      'Add an answer for this request, or find out why the agent asks once more.',
    ),
  noAnswerFits: (left: number, asked: string) =>
    new RetakeError(
      'SCRIPT_NO_ANSWER_FITS',
      `No answer of the script fits a request whose last message is "${asked}".`,
      `${left === 1 ? 'One answer is' : `${left} answers are`} left; each is kept for other requests by its \`when\`.`,
      'Add an answer for this request, or change a condition.',
    ),
  portTaken: (port: number, cause: unknown) =>
    new RetakeError(
      'MODEL_SERVER_PORT',
      `The model server cannot listen on port ${port}.`,
      `The system said: ${cause instanceof Error ? cause.message : String(cause)}.`,
      'Choose another port, or none: then any that is free is taken.',
      { cause },
    ),
  noEndpoint: (method: string, path: string) =>
    new RetakeError(
      'MODEL_SERVER_NO_ENDPOINT',
      `The model server has nothing at ${method} ${path}.`,
      'It speaks the APIs of models that `retake docs testing` lists.',
      'Check the base URL of the client: `env` of the server has the right ones.',
    ),
  badRequest: (path: string) =>
    new RetakeError(
      'MODEL_SERVER_BAD_REQUEST',
      `The body of the request to ${path} is no JSON object.`,
      'Models are asked in JSON, and in at most 64 MB of it.',
      'Check what the client sends.',
    ),
}
