import { changedSources, movedHere, whyNotRunAgain } from '@retake/runner/agent'
import { hasRecordedCode } from '@retake/runner/sources'
import { offers } from '@retake/runner/command-line'
import { createHash } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { childrenFolder, RUN_FILE } from '@retake/engine/runs'
import type { Tape } from '@retake/tape'
import { attempt, isRecord, recordOf } from '@retake/tape/format'
import { openOwnTape, openTape } from '@retake/tape/node'
import { cliErrors } from '@retake/runner/errors'
import { temporaryFolder } from '@retake/runner/temporary-folder'
import { readPart } from '@retake/runner/read-part'
import { refuseSecrets } from '@retake/runner/privacy'
import { isMarkedAlive, isRecording, type RunStore } from '@retake/runner/runs'
import { tagsOf } from '@retake/runner/runs'
import type { TeamClient, TeamProject } from './team-client.js'

/** True if the program of a run is where it was recorded, and its code was kept or is unchanged. */
function hasProgram(file: string): boolean {
  const tape = openTape(file)
  return (
    whyNotRunAgain(tape) === undefined &&
    movedHere(tape) === undefined &&
    (hasRecordedCode(tape) || changedSources(tape).length === 0)
  )
}

const PART_BYTES = 8 << 20
/** Suffix of the file with an agent's code, after the id of its run. */
const CODE_SUFFIX = '.code.tar.gz'

interface RunFile {
  readonly name: string
  readonly digest: string
  readonly bytes: number
  /** Path on this machine. */
  readonly path: string
}

export interface PushedRun {
  readonly run: string
  readonly outcome: 'created' | 'exists'
  /** Number of bytes sent; the server already had the rest. */
  readonly sentBytes: number
  readonly url: string
}

export interface PushOptions {
  readonly allowsSecrets: boolean
  readonly withCode?: boolean
  readonly onProgress?: (run: string, sent: number, all: number) => void
}

const runRoute = ({ org, project }: TeamProject): string =>
  `/api/v1/${encodeURIComponent(org)}/projects/${encodeURIComponent(project)}`

/** Sends a run to a team server, after its ancestors. An interrupted push can be repeated. */
export async function pushRun(
  client: TeamClient,
  target: TeamProject,
  tape: string,
  options: PushOptions,
): Promise<PushedRun[]> {
  const { run, details, status } = openTape(tape)
  if (status === 'truncated' && isRecording(tape, run.scope))
    throw cliErrors.RUN_STILL_RECORDING(run.id)
  const parent = run.parent && path.join(path.dirname(tape), `${run.parent.run}.tape`)
  // Without its own code, jobs of the parent would differ from its tape.
  const before =
    parent === undefined
      ? []
      : await pushRun(client, target, parent, {
          ...options,
          withCode: options.withCode === true && hasProgram(parent),
        })
  using scratch = temporaryFolder('push')
  const archive = path.join(scratch.path, `${run.id}${CODE_SUFFIX}`)
  if (options.withCode === true) {
    const packCode = await offers.packCode?.()
    if (packCode === undefined) throw cliErrors.CAPABILITY_MISSING('push --code', ['@retake/lab'])
    packCode(tape, archive, options.allowsSecrets)
  }
  const files = await filesOf(tape, run.id, options.withCode === true ? [archive] : [])
  return [...before, await pushFiles(client, target, { tape, id: run.id, details, files }, options)]
}

interface LocalRun {
  readonly tape: string
  readonly id: string
  readonly details: Tape['details']
  readonly files: readonly RunFile[]
}

async function pushFiles(
  client: TeamClient,
  target: TeamProject,
  { tape, id, details, files }: LocalRun,
  options: PushOptions,
): Promise<PushedRun> {
  if (!options.allowsSecrets)
    refuseSecrets(
      files.map((file) => file.path).filter((file) => file.endsWith('.tape')),
      id,
    )
  const route = runRoute(target)
  const announced = files.map(({ name, digest, bytes }) => ({ name, digest, bytes }))
  const { missing } = await client.json<{ missing: { digest: string; received: number }[] }>(
    'POST',
    `${route}/uploads`,
    { files: announced },
  )
  const uploads = missing.flatMap(({ digest, received }) => {
    const file = files.find((each) => each.digest === digest)
    return file ? [{ file, received }] : []
  })
  const all = uploads.reduce((sum, { file }) => sum + file.bytes, 0)
  let sentBytes = 0
  for (const { file, received } of uploads) {
    await upload(client, `${route}/uploads/${file.digest}`, file, received, (bytes) => {
      sentBytes += bytes
      options.onProgress?.(id, sentBytes, all)
    })
  }
  const { outcome } = await client.json<{ outcome: PushedRun['outcome'] }>(
    'POST',
    `${route}/runs`,
    {
      run: id,
      files: announced,
      allowSecrets: options.allowsSecrets,
      ...tagsOf(tape, details),
    },
  )
  const url = `${target.server}/${target.org}/${target.project}/runs/${encodeURIComponent(id)}`
  return { run: id, outcome, sentBytes, url }
}

/** The tape, tapes of its child processes, and further files under their own names. */
async function filesOf(tape: string, id: string, more: readonly string[]): Promise<RunFile[]> {
  const folder = childrenFolder(tape)
  const children = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.tape'))
    : []
  const named: [name: string, file: string][] = [
    [`${id}.tape`, tape],
    ...children.map((name): [string, string] => [
      `${id}.children/${name}`,
      path.join(folder, name),
    ]),
    ...more.map((file): [string, string] => [path.basename(file), file]),
  ]
  return Promise.all(
    named.map(async ([name, file]) => {
      // Without the torn end of a killed tape: its bytes belong to no event, so no search covers
      // them.
      const { size } = statSync(file)
      const bytes = file.endsWith('.tape') ? size - openOwnTape(file).tornBytes : size
      const hash = createHash('sha256')
      if (bytes > 0) await pipeline(createReadStream(file, { end: bytes - 1 }), hash)
      return { name, digest: hash.digest('hex'), bytes, path: file }
    }),
  )
}

async function upload(
  client: TeamClient,
  route: string,
  { path: file, bytes }: RunFile,
  received: number,
  onSent: (bytes: number) => void,
): Promise<void> {
  let offset = received
  do {
    const part = readPart(file, offset, Math.min(PART_BYTES, bytes - offset))
    const now = await sendPart(client, `${route}?offset=${offset}&size=${bytes}`, part)
    onSent(now - offset)
    offset = now
  } while (offset < bytes)
}

/** Resolves with the number of bytes that the server has so far. */
async function sendPart(
  client: TeamClient,
  route: string,
  part: Buffer<ArrayBuffer>,
): Promise<number> {
  const headers = { 'content-type': 'application/octet-stream' }
  const sent = await client.send('PATCH', route, { body: part, headers })
  return ((await sent.json()) as { received: number }).received
}

const LIVE_PART_BYTES = 1 << 20
const POLL_MS = 500
const START_MS = 30_000
/** The server shows a recording while it receives news of it. */
const ALIVE_MS = 10_000

/**
 * Sends a tape to the server while it is written, so that people can watch the run. Resolves when
 * the recording has ended. Rejected parts are skipped, because the run is pushed afterwards.
 */
export async function followRun(
  client: TeamClient,
  target: TeamProject,
  tape: string,
): Promise<void> {
  const route = `${runRoute(target)}/live/${encodeURIComponent(path.basename(tape, '.tape'))}`
  const until = Date.now() + START_MS
  let offset = 0
  let sentAt = Date.now()
  for (;;) {
    const isAlive = isMarkedAlive(tape)
    const size = statSync(tape, { throwIfNoEntry: false })?.size ?? 0
    if (!isAlive && (size > 0 || Date.now() > until)) return
    const isDue = offset < size || (offset > 0 && Date.now() - sentAt > ALIVE_MS)
    const length = Math.min(LIVE_PART_BYTES, size - offset)
    const part = isDue ? attempt(() => readPart(tape, offset, length)) : undefined
    if (part !== undefined) {
      // The server says where to continue.
      const received = sendPart(client, `${route}?offset=${offset}`, part)
      offset = await received.catch(async () => {
        await pause(POLL_MS)
        return offset
      })
      sentAt = Date.now()
    }
    if (part === undefined || part.length < LIVE_PART_BYTES) await pause(POLL_MS)
  }
}

interface RemoteRun {
  readonly run: { readonly id: string; readonly parent: string | null }
  readonly files: readonly {
    readonly name: string
    readonly digest: string
    readonly bytes: number
    readonly link: string
  }[]
}

/** Limits of what a server may send about one run. The server itself accepts less. */
const FILES_MAX = 10_000
const NAME_MAX = 255
const ANCESTORS_MAX = 500

/** Fetches a run and its ancestors into a folder. Existing runs stay unchanged. */
export async function pullRun(
  client: TeamClient,
  source: TeamProject,
  id: string,
  store: RunStore,
  /** The runs that continue this one, by id. */
  children: readonly string[] = [],
): Promise<{ readonly run: string; readonly outcome: 'fetched' | 'exists' }[]> {
  const isRunId = RUN_FILE.test(`${id}.tape`) && id.length < NAME_MAX - '.children'.length
  if (!isRunId || children.includes(id)) throw cliErrors.TEAM_FILE_INVALID(id)
  if (children.length > ANCESTORS_MAX)
    throw cliErrors.TEAM_ANSWER_INVALID(id, `It names more than ${ANCESTORS_MAX} ancestors.`)
  const { run, files } = checkedRun(
    await client.json<unknown>('GET', `${runRoute(source)}/runs/${encodeURIComponent(id)}`),
    id,
  )
  const before =
    run.parent === null ? [] : await pullRun(client, source, run.parent, store, [...children, id])
  const target = store.pathOf(id)
  if (existsSync(target)) return [...before, { run: id, outcome: 'exists' }]
  store.prepare()
  // The tape comes last, because it makes the run complete.
  for (const file of files.toSorted((a, b) => b.name.length - a.name.length)) {
    const response = await client.send('GET', `/api/v1/${file.link}`)
    await saveFile(response, path.join(store.folder, file.name), file, (draft) => {
      if (file.name === `${id}.tape` && openOwnTape(draft).run.id !== id)
        throw cliErrors.TEAM_FILE_INVALID(file.name)
    })
  }
  return [...before, { run: id, outcome: 'fetched' }]
}

/** Checks all of an answer before anything is written. Leaves out the code of the agent. */
function checkedRun(answer: unknown, id: string): RemoteRun {
  const { run, files } = recordOf(answer)
  const invalid = (why: string): Error => cliErrors.TEAM_ANSWER_INVALID(id, why)
  const { parent = null } = recordOf(run)
  if (!isRecord(run) || (parent !== null && typeof parent !== 'string'))
    throw invalid('It does not describe the run.')
  if (!Array.isArray(files) || files.length > FILES_MAX || !files.every(isRemoteFile))
    throw invalid('It does not have a list of files with names, digests and sizes.')
  const wanted = files.filter(({ name }) => !name.endsWith(CODE_SUFFIX))
  const foreign = wanted.find(({ name }) => !isOwnName(name, id))
  if (foreign !== undefined) throw cliErrors.TEAM_FILE_INVALID(foreign.name.slice(0, NAME_MAX))
  const names = new Set(wanted.map(({ name }) => name))
  if (names.size < wanted.length) throw invalid('It names a file twice.')
  if (!names.has(`${id}.tape`)) throw invalid('It names no tape.')
  return { run: { id, parent }, files: wanted }
}

type RemoteFile = RemoteRun['files'][number]

const isRemoteFile = (file: unknown): file is RemoteFile => {
  const { name, digest, bytes, link } = recordOf(file)
  return (
    [name, digest, link].every((each) => typeof each === 'string') &&
    Number.isSafeInteger(bytes) &&
    (bytes as number) >= 0
  )
}

/** Names come from the server and must not leave the folder. */
const isOwnName = (name: string, id: string): boolean => {
  const child = name.startsWith(`${id}.children/`) ? name.slice(id.length + 10) : undefined
  return child === undefined
    ? name === `${id}.tape`
    : RUN_FILE.test(child) && child.length <= NAME_MAX - '.part'.length
}

/** Writes no more bytes than were announced. A file that is not right leaves nothing behind. */
async function saveFile(
  response: Response,
  file: string,
  { digest, bytes }: RemoteFile,
  check: (draft: string) => void,
): Promise<void> {
  mkdirSync(path.dirname(file), { recursive: true })
  const draft = `${file}.part`
  const invalid = (): Error => cliErrors.TEAM_FILE_INVALID(path.basename(file))
  const hash = createHash('sha256')
  let received = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      received += chunk.length
      if (received > bytes) throw invalid()
      hash.update(chunk)
      yield chunk
    }
  }
  try {
    const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0])
    await pipeline(body, counted, createWriteStream(draft, { mode: 0o600 }))
    if (received !== bytes || hash.digest('hex') !== digest) throw invalid()
    check(draft)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
