import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { openPage } from './browser.js'

type Retake = (
  args: readonly string[],
) => Promise<{ stdout: string; stderr: string; code: number | null }>

/** Makes a report with the real command line; answers with its path. */
export async function makeReportFile(
  workspace: { readonly folder: string; readonly retake: Retake },
  run: string,
  args: readonly string[] = [],
): Promise<string> {
  const file = join(workspace.folder, `${run}.html`)
  const { code, stderr } = await workspace.retake(['report', run, '-o', file, ...args])
  expect(stderr.replaceAll(/^(?:Redacted|Answers|The tape|The run).*\n/gm, '')).toBe('')
  expect(code).toBe(0)
  return file
}

/** Address of a report on disk, at a step if one is said. */
export const reportUrl = (file: string, run: string, search = ''): string =>
  `${pathToFileURL(file).href}#/runs/${run}${search}`

/** A page without a network, which fails the test when it asks for anything but the file itself. */
export async function openOfflinePage(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage({ ...options, offline: true })
  const asked: string[] = []
  page.on('request', (request) => {
    const url = request.url()
    if (!/^(?:file:.*\.html(?:[#?].*)?|blob:(?:file:|null).*|data:,)$/.test(url)) asked.push(url)
  })
  onTestFinished(() => expect(asked).toEqual([]))
  return page
}

/** What the page has and Node does not. */
interface PageScope {
  readonly document: { getElementById(id: string): { readonly textContent: string } | null }
  readonly Worker: new (url: string) => {
    addEventListener(type: 'message', listener: (event: { data: Told }) => void): void
    postMessage(message: unknown, transfer: []): void
    terminate(): void
  }
}

interface Told {
  readonly type: string
  readonly id: number
  readonly value: unknown
  readonly error: unknown
}

/** A call of `RunSource`. */
export interface SourceCall {
  readonly method: string
  readonly args: readonly unknown[]
}

/** Calls the worker in the page of a report; each answer is the JSON of its pieces. */
export async function askReport(page: Page, calls: readonly SourceCall[]): Promise<unknown[][]> {
  const answers = await page.evaluate(async (called) => {
    const { document, Worker } = globalThis as unknown as PageScope
    const block = (id: string): string => document.getElementById(id)?.textContent ?? ''
    const about = JSON.parse(block('retake-about')) as { run: string; tapes: number }
    const code = JSON.parse(block('retake-worker')) as string
    const worker = new Worker(URL.createObjectURL(new Blob([code])))
    const pieces: unknown[][] = called.map(() => [])
    let open = called.length
    const all = new Promise<void>((resolve) => {
      worker.addEventListener('message', ({ data: message }) => {
        if (message.type === 'piece') pieces[message.id]?.push(message.value)
        else {
          if (message.type === 'failed') pieces[message.id]?.push({ failed: message.error })
          if (--open === 0) resolve()
        }
      })
    })
    for (const [id, call] of called.entries()) worker.postMessage({ type: 'call', id, call }, [])
    const tapes = Array.from({ length: about.tapes }, (_, place) => block(`retake-tape-${place}`))
    const data = { run: about.run, parts: block('retake-parts'), tapes }
    worker.postMessage({ type: 'open', data }, [])
    await all
    worker.terminate()
    const plain = (value: unknown): unknown => {
      if (value instanceof Blob) return value.text()
      return value instanceof Uint8Array ? { bytes: Array.from(value) } : value
    }
    const read = pieces.map((list) => Promise.all(list.map(plain)))
    return Promise.all(read.map(async (list) => JSON.stringify(await list)))
  }, calls)
  return answers.map((text) => JSON.parse(text) as unknown[])
}
