/**
 * Broken agents by somebody who had read what `docs/fix.md` promises, but no rule. Change a rule for
 * a whole class of failures, never for one of these agents.
 *
 * @typedef {object} UnseenAnimal
 * @property {string} name
 * @property {string} what The defect, in a few words.
 * @property {string} [promised] The row of docs/fix.md, or of the issue, by which rules should fix it.
 * @property {string} agent Text of `agent.mjs`, which gets its input as its first argument, and
 *   prints a first line that contains it.
 * @property {Readonly<Record<string, string>>} [files] Other files of the project.
 * @property {(request: ModelRequest, world: World) => string | ScriptedAnswer | Promise<string | ScriptedAnswer>} model
 * @property {(path: string, body: unknown, world: World) => { status?: number, json?: unknown }} [gateway]
 *   Answers `GATEWAY_URL`.
 * @property {string} [oracle] For a single failed run, as somebody types it. Unless given, a run that
 *   ends with an error needs none, and for another the oracle wants the expected output.
 * @property {Case} failing
 * @property {Case} sibling It fails for the same reason.
 * @property {readonly Case[]} passing The broken agent gets these right.
 * @property {readonly Case[]} hidden Never shown to `retake fix`.
 * @property {readonly Edit[]} [fix]
 * @property {readonly Edit[]} [partial] A plausible change that suits the failed run, at least at first sight.
 * @property {readonly Edit[]} [silence] A plausible change that hides the failure.
 * @property {'fixed' | 'not-fixed' | 'fine' | 'flaky'} [expect] `fixed` unless given.
 *
 * @typedef {import('./animal.mjs').ModelRequest} ModelRequest
 * @typedef {import('./animal.mjs').ScriptedAnswer} ScriptedAnswer
 * @typedef {import('./animal.mjs').World & { since(key: string): number }} World
 * @typedef {import('./animal.mjs').Case} Case
 * @typedef {import('./animal.mjs').Edit} Edit
 */
import { CODE } from './unseen/code.mjs'
import { MODELS } from './unseen/models.mjs'
import { OTHERS } from './unseen/others.mjs'
import { TOOLS } from './unseen/tools.mjs'
import { TRANSPORT } from './unseen/transport.mjs'

/** @type {readonly (UnseenAnimal & { expect: string })[]} */
export const UNSEEN = [...TRANSPORT, ...TOOLS, ...MODELS, ...CODE, ...OTHERS].map((animal) => ({
  expect: 'fixed',
  ...animal,
}))
