/** `retake/claude-agent`: the model calls of the Claude Agent SDK's subprocess, on a tape. */
export { recordedClaude } from './recorded-claude.js'
