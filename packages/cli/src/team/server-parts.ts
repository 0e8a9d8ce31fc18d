import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ProgramNeeds, RetakeParts, RunFacts } from '@retake/server'
import { messageText, type RunView, type Tape } from '@retake/tape'
import { openOwnTape, openTape } from '@retake/tape/node'
import { attempt } from '../attempt.js'
import { clusterKey } from '../fix/clusters.js'
import { placeholders } from '../blame/read-search.js'
import { modelEndpoints, ownFolders } from '../fix/trial-sandbox.js'
import { cliEntry, cliRoot, version } from '../package-root.js'
import { SECRET_RULES, secretsIn } from '../privacy/find-secrets.js'
import { RunStore } from '../runs/run-store.js'
import { checkTape, summarizeRun } from '../runs/run-summary.js'
import { viewRun } from '../runs/view-run.js'
import { localRuns } from '../ui/local-runs.js'

/** Characters of a run that can be searched. */
const TEXT_MAX = 150_000
const MESSAGE_MAX = 4000

/** Functions of this package that the team server uses. */
export async function serverParts(): Promise<RetakeParts> {
  const { MissingParent } = await import('@retake/server')
  return {
    version: version(),
    command: [process.execPath, fileURLToPath(new URL('bin/retake.mjs', cliRoot))],
    code: {
      folders: ownFolders(),
      packages: Object.fromEntries(
        ['retake', '@retake/engine', '@retake/guard', '@retake/tape'].map((name) => [
          name,
          name === 'retake' ? fileURLToPath(cliRoot) : packageFolder(name),
        ]),
      ),
    },
    forwarder: cliEntry('forward-thread').href,
    needsOf,
    repository: (folder) => localRuns(new RunStore(folder)),
    findSecrets: async (file) =>
      secretsIn(file).map(({ rule, where }) => `${SECRET_RULES[rule]} (${where})`),
    describe: async (file) => {
      const parent = openOwnTape(file).run.parent?.run
      if (parent !== undefined && !existsSync(path.join(path.dirname(file), `${parent}.tape`)))
        throw new MissingParent(parent)
      return describeTape(file)
    },
  }
}

const packageFolder = (name: string): string =>
  path.dirname(path.dirname(fileURLToPath(import.meta.resolve(name))))

function needsOf(file: string): ProgramNeeds {
  const children = file.replace(/\.tape$/, '.children')
  const names = existsSync(children) ? readdirSync(children) : []
  const tapes = [
    openTape(file),
    ...names
      .filter((name) => name.endsWith('.tape'))
      .map((name) => openTape(path.join(children, name))),
  ]
  return {
    models: modelEndpoints(tapes),
    sendsRequests: tapes.some((tape) =>
      viewRun(tape).recordedSteps.some(({ kind }) => kind === 'http'),
    ),
    placeholders: Object.assign({}, ...tapes.map((tape) => placeholders(tape, {}))) as Record<
      string,
      string
    >,
  }
}

function describeTape(file: string): RunFacts {
  const tape = openTape(file)
  const { integrity, detail } = checkTape(tape)
  if (integrity === 'damaged') throw new Error(`The tape is damaged: ${detail}.`)
  const row = summarizeRun(tape.run.id, file)
  if ('error' in row) throw new Error(row.error.what)
  const view = viewRun(tape)
  const { id, name, startedAt, steps, durationMs, costUsd, tokens, input, failure, lastLine } = row
  // A stored tape is never written again: without an end, its process was killed.
  const status = row.status === 'recording' ? 'killed' : row.status
  const cluster = status === 'done' ? undefined : clusterOf(tape, failure)
  return {
    id,
    name,
    startedAt,
    status,
    steps,
    durationMs,
    events: tape.count,
    models: row.models ?? [],
    tools: [...new Set(view.recordedSteps.flatMap(({ toolName }) => toolName ?? []))].slice(0, 100),
    tags: row.tags ?? [],
    text: textOf(view),
    ...(costUsd !== undefined && { costUsd }),
    ...(tokens !== undefined && { tokens }),
    ...(input !== undefined && { input }),
    ...(failure !== undefined && { failure }),
    ...(lastLine !== undefined && { lastLine }),
    ...(cluster !== undefined && { cluster }),
    ...(row.branch && { parent: { run: row.branch.parent, kind: row.branch.kind } }),
  }
}

const clusterOf = (tape: Tape, failure: string | undefined): string | undefined =>
  attempt(() => clusterKey(tape, failure ?? ''))?.slice(0, 200)

/** Prompts, answers, arguments and output of a run, shortened. */
function textOf(view: RunView): string {
  const parts: string[] = []
  let length = 0
  const add = (text: string): void => {
    const part = text.slice(0, MESSAGE_MAX)
    parts.push(part)
    length += part.length
  }
  let read = 0
  for (const step of view.recordedSteps) {
    if (length > TEXT_MAX) break
    add(step.title)
    const messages = attempt(() => step.messages(), [])
    // A conversation repeats its beginning with each call.
    for (const message of messages.slice(read)) add(messageText(message))
    read = Math.max(read, messages.length)
    for (const message of attempt(() => step.answer(), [])) add(messageText(message))
    for (const { args } of step.toolCalls) add(JSON.stringify(args) ?? '')
  }
  for (const event of view.outputs) {
    if (length > TEXT_MAX) break
    add(Buffer.from(view.outputBytes(event)).toString())
  }
  return parts.join('\n').slice(0, TEXT_MAX)
}
