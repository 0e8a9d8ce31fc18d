/**
 * An animal of the zoo: a broken agent with the truth about it.
 *
 * @typedef {object} Animal
 * @property {string} name
 * @property {string} what The defect, in a few words.
 * @property {string} agent Text of `agent.mjs`, which gets its input as its first argument.
 * @property {Readonly<Record<string, string>>} [files] Other files of the project.
 * @property {(request: ModelRequest, world: World) => string | ScriptedAnswer} model
 *   Depends on the request alone, except for what `world` counts and for flaky animals.
 * @property {(path: string, body: unknown, world: World) => { status?: number, json?: unknown }} [gateway]
 *   Answers `GATEWAY_URL`, a server that is not one of the known providers.
 * @property {string} [oracle] As for `--oracle`; a file with the expected outputs unless given.
 * @property {Case} failing
 * @property {readonly [Case, Case]} siblings They fail for the same reason. The second is never
 *   shown to `retake fix`.
 * @property {readonly [Case, Case]} twins Their right outcome is the opposite one, and the broken
 *   agent gets it right. The second is never shown.
 * @property {readonly Case[]} corpus The broken agent gets these right.
 * @property {readonly Edit[]} [fix] The known fix of an animal that has one.
 * @property {'fixed' | 'not-fixed' | 'flaky'} [expect] `fixed` unless given.
 * @property {boolean} [byRules] One of the typed operators should find a fix without a model.
 *
 * @typedef {import('@retake/engine/testing').ModelRequest} ModelRequest
 * @typedef {import('@retake/engine/testing').ScriptedAnswer} ScriptedAnswer
 * @typedef {{ attempt(key: string): number, chance(): number, running: number }} World
 * @typedef {readonly [input: string, wanted: string]} Case `wanted`: a part of the output, with
 *   `|` between several, `!` before one that must be absent, or `exit:1`.
 * @typedef {readonly [search: string, replacement: string, file?: string]} Edit
 */

/** @param {ModelRequest} request */
export const userText = ({ messages }) =>
  messages.findLast(({ role }) => role === 'user')?.text ?? ''

/** @param {ModelRequest} request */
export const systemText = ({ messages }) =>
  messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(({ text }) => text)
    .join('\n')

/** Results of tools, oldest first. @param {ModelRequest} request */
export const toolTexts = ({ messages }) =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

/** Everything that was sent. @param {ModelRequest} request */
export const wholeText = ({ messages }) => messages.map(({ text }) => text).join('\n')

/** @param {string} name @param {Record<string, unknown>} args @returns {ScriptedAnswer} */
export const callTool = (name, args) => ({ toolCalls: [{ name, args }] })

/** @param {number} status @param {string} message @param {object} [more] @returns {ScriptedAnswer} */
export const refuse = (status, message, more = {}) => ({ error: { status, message, ...more } })
