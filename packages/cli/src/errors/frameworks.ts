import { RetakeError } from '@retake/engine/errors'

export const unsupportedFramework = (
  name: string,
  version: string,
  supported: string,
): RetakeError =>
  new RetakeError(
    'FRAMEWORK_NOT_SUPPORTED',
    `This adapter does not know ${name} ${version}.`,
    `It was written for ${name} ${supported}.`,
    `Install a version in that range, or leave the adapter out: without it everything is still recorded and replayed, only the names of agents and nodes are missing.`,
  )

export const frameworkMissing = (name: string, door: string, cause: unknown): RetakeError =>
  new RetakeError(
    'FRAMEWORK_MISSING',
    `${door} needs ${name}, which is not installed.`,
    'An adapter uses the framework of the program it names the steps of; it does not bring one.',
    `Install it, \`npm install ${name}\`, or leave the adapter out.`,
    { cause },
  )

export const checkpointNeedsThread = (): RetakeError =>
  new RetakeError(
    'CHECKPOINT_NEEDS_THREAD',
    'A graph with a TapeSaver was called without a thread.',
    'A checkpointer keeps the states of a graph by thread.',
    "Call it with `{ configurable: { thread_id: '…' } }`.",
  )
