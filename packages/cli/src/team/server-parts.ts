import { loadViewerParts, offers } from '@retake/runner/command-line'
import { Deadline } from '@retake/tape/format'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { ProgramNeeds, RetakeParts } from '@retake/server'
import { openTape } from '@retake/tape/node'
import { placeholders } from '@retake/lab/blame'
import { project } from '@retake/runner/config'
import { modelEndpoints, ownFolders } from '@retake/lab/fix'
import { version } from '@retake/runner/package-root'
import { labEntry } from '@retake/lab/fix'
import { cliEntry, cliRoot } from '../package-root.js'
import { RunStore } from '@retake/runner/runs'
import { viewRun } from '@retake/runner/runs'
import { localRuns } from '@retake/web/ui'
import type { TapeReading } from './read-pushed-tape.js'
import type { TapeThreadAnswer, TapeThreadData, TapeThreadTask } from './tape-thread.js'

/** A tape that takes longer to read is malicious or far too large. */
const READ_MS = 120_000

/** Reads pushed tapes in a thread, one at a time, to keep the server responsive. */
class TapeReader {
  #thread: Worker | undefined
  #last: Promise<unknown> = Promise.resolve()

  read<Name extends keyof TapeReading>(work: Name, file: string): Promise<TapeReading[Name]> {
    const read = this.#last.then(() => this.#readNext(work, file))
    this.#last = read.catch(() => {})
    return read
  }

  async #readNext<Name extends keyof TapeReading>(
    work: Name,
    file: string,
  ): Promise<TapeReading[Name]> {
    const thread = (this.#thread ??= this.#start())
    // The process waits for an answer, but not for an idle thread.
    thread.ref()
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      thread.postMessage({ work, file } satisfies TapeThreadTask)
      using deadline = new Deadline({ ms: READ_MS })
      const { signal } = deadline
      const [answer] = (await once(thread, 'message', { signal })) as [TapeThreadAnswer<Name>]
      if ('done' in answer) return answer.done
      throw new Error(answer.failed)
    } catch (error) {
      if (!(error instanceof Error && error.name === 'AbortError')) throw error
      await thread.terminate()
      throw new Error(`It could not be read within ${READ_MS / 1000} s.`, { cause: error })
    } finally {
      thread.unref()
    }
  }

  #start(): Worker {
    const workerData: TapeThreadData = { prices: project().prices }
    const thread = new Worker(cliEntry('tape-thread'), { workerData })
    // After a time or memory limit, the next tape gets a new thread.
    thread.once('exit', () => (this.#thread = undefined))
    return thread
  }
}

const reader = new TapeReader()

export async function serverParts(): Promise<RetakeParts> {
  const { MissingParent } = await import('@retake/server')
  const parts = await loadViewerParts()
  const approvals = await offers.approvals?.()
  return {
    ...(approvals && { approvals }),
    version: version(),
    command: [process.execPath, fileURLToPath(new URL('bin/retake.mjs', cliRoot))],
    code: {
      folders: ownFolders(),
      packages: Object.fromEntries(
        ['retake', '@retake/engine', '@retake/guard', '@retake/tape'].map((name) => [
          name,
          name === 'retake'
            ? fileURLToPath(cliRoot)
            : path.dirname(path.dirname(fileURLToPath(import.meta.resolve(name)))),
        ]),
      ),
    },
    forwarder: labEntry('forward-thread').href,
    needsOf,
    repository: (folder) => localRuns(new RunStore(folder), { parts }),
    findSecrets: (file) => reader.read('secrets', file),
    describe: async (file) => {
      const described = await reader.read('facts', file)
      if ('missingParent' in described) throw new MissingParent(described.missingParent)
      return described
    },
  }
}

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
