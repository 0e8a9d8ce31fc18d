/** Rules that find credentials in text, by their shape, their name or their value. */
export { hasPossibleSecret } from './possible-secrets.js'
export { hasKeyShape, keyShapes, maskCutKey, maskKeys } from './key-shapes.js'
export { KnownValues } from './known-values.js'
export { isWordsAndNumber, looksGenerated, strengthOf } from './named-secrets.js'
export { looksSecret, redactText } from './redact-text.js'
export { TEXT_MEMBERS, textMembers } from './text-members.js'
