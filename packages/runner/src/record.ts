/** Recording an agent, and nothing else: `retake record` loads this before the agent starts. */
export { type AgentRecording, recordAgent } from './agent/record-agent.js'
