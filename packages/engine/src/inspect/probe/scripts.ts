import { attempt } from '@retake/tape/format'
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ScriptLocation, ScriptParsed } from './protocol.js'
import type { MovedRoot } from '../../player/moved-tape.js'
import type { CodeLocation } from '@retake/tape'
import { engineRoot } from '../../package-root.js'

// `resolve` is undefined if a test runner loads this file.
const tapeUrl =
  typeof import.meta.resolve === 'function' ? import.meta.resolve('@retake/tape') : import.meta.url
/** Prefixes of the script URLs of Retake's own code. */
const OWN = [engineRoot.href, new URL('.', tapeUrl).href]

/** The scripts of an inspected process: which are user code, and their sources. */
export class Scripts {
  readonly byId = new Map<string, ScriptParsed>()
  readonly #byUrl = new Map<string, ScriptParsed>()
  readonly #maps = new Map<string, SourceMap | undefined>()
  readonly #sources = new Map<string, ReadonlySet<string>>()
  readonly #files = new Map<string, string>()
  readonly #own: readonly string[]

  /**
   * `own`: URL prefixes that count as library code, besides Node, node_modules and the engine.
   * `root`: set if the program runs in a copy of its folder; files are then named as in the original.
   */
  constructor(
    own: readonly string[],
    readonly root?: MovedRoot,
  ) {
    this.#own = [...OWN, ...own]
  }

  /** The path of a script, or its name if it is not a file. */
  pathOf(url: string): string {
    if (!url.startsWith('file://')) return url
    const file = fileURLToPath(url.split(/[?#]/)[0] ?? url)
    return this.root === undefined ? file : movedPath(file, this.root.current, this.root.recorded)
  }

  /** The URL under which the program loads a file. */
  urlOf(file: string): string {
    const { root } = this
    return pathToFileURL(root ? movedPath(file, root.recorded, root.current) : file).href
  }

  add(script: ScriptParsed): void {
    this.byId.set(script.scriptId, script)
    if (script.url !== '') this.#byUrl.set(script.url, script)
  }

  get users(): readonly ScriptParsed[] {
    return [...this.byId.values()].filter(({ url }) => this.isUsersUrl(url))
  }

  /** True if a script was compiled from a file, or is that file. */
  isMadeOf(script: ScriptParsed, file: string): boolean {
    return this.pathOf(script.url) === file || this.#sourcesOf(script).has(file)
  }

  /**
   * Maps a location of a script to `file`, which may be one of its sources or the script itself;
   * undefined if it is in another file.
   */
  lineIn(file: string, location: ScriptLocation): { line: number; column: number } | undefined {
    const script = this.byId.get(location.scriptId)
    if (script === undefined) return undefined
    const isSource = this.#sourcesOf(script).has(file)
    if (!isSource && this.pathOf(script.url) !== file) return undefined
    const { lineNumber, columnNumber = 0 } = location
    if (!isSource) return { line: lineNumber + 1, column: columnNumber + 1 }
    const source = this.locate(location)
    return source.file === file ? source : undefined
  }

  /** First position of a line in a script with a source map; undefined without a map or such a line. */
  generatedFrom(
    script: ScriptParsed,
    file: string,
    line: number,
  ): { url: string; lineNumber: number; columnNumber: number }[] {
    const map = this.#mapOf(script)
    if (map === undefined) return []
    const { url, scriptId } = script
    for (const { lineNumber, columnNumber } of mappedLocations(map)) {
      const source = this.locate({ scriptId, lineNumber, columnNumber })
      if (source.file === file && source.line === line) return [{ url, lineNumber, columnNumber }]
    }
    return []
  }

  /** Positions of a script that its source map names; none without a map. */
  mappedLocations(scriptId: string): ScriptLocation[] {
    const script = this.byId.get(scriptId)
    const map = script && this.#mapOf(script)
    if (map === undefined) return []
    return Array.from(mappedLocations(map), (location) => ({ scriptId, ...location }))
  }

  /** In a bundle, only the source map distinguishes user code from packages. */
  isUsers(location: ScriptLocation): boolean {
    const script = this.byId.get(location.scriptId)
    if (script === undefined || !this.isUsersUrl(script.url)) return false
    if (this.#mapOf(script) === undefined) return true
    const { file, mapped } = this.locate(location)
    return mapped && !isInstalled(file)
  }

  isUsersUrl(url: string): boolean {
    return (
      url.startsWith('file://') &&
      !isInstalled(url) &&
      !this.#own.some((start) => url.startsWith(start))
    )
  }

  locate({ scriptId, lineNumber, columnNumber = 0 }: ScriptLocation): CodeLocation {
    const script = this.byId.get(scriptId)
    const map = script && this.#mapOf(script)
    const entry = map?.findEntry(lineNumber, columnNumber)
    if (script && map && entry && 'originalSource' in entry && entry.originalSource !== undefined) {
      return {
        file: this.#fileOf(entry.originalSource, map, script),
        line: entry.originalLine + 1,
        column: entry.originalColumn + 1,
        mapped: true,
      }
    }
    return {
      file: this.pathOf(script?.url ?? ''),
      line: lineNumber + 1,
      column: columnNumber + 1,
      mapped: false,
    }
  }

  /** Like `locate`, for a frame of a printed stack, which names a URL or path and counts from 1. */
  locateUrl(name: string, line: number, column: number): CodeLocation & { isUser: boolean } {
    const url = /^[\w-]{2,}:/.test(name) || name === '' ? name : pathToFileURL(name).href
    const script = this.#byUrl.get(url)
    const location = script
      ? this.locate({
          scriptId: script.scriptId,
          lineNumber: line - 1,
          columnNumber: column - 1,
        })
      : { file: this.pathOf(url), line, column, mapped: false }
    return { ...location, isUser: this.isUsersUrl(url) && !isInstalled(location.file) }
  }

  #sourcesOf(script: ScriptParsed): ReadonlySet<string> {
    let paths = this.#sources.get(script.scriptId)
    if (paths === undefined) {
      const map = this.#mapOf(script)
      const files = map?.payload.sources.map((source) => this.#fileOf(source, map, script))
      paths = new Set(files ?? [this.pathOf(script.url)])
      this.#sources.set(script.scriptId, paths)
    }
    return paths
  }

  /**
   * The file that a map names. `sourceRoot` belongs in front of the name, but bundlers write names
   * that are relative to the map, whatever the root is, so the root counts if it leads to a file.
   */
  #fileOf(source: string, map: SourceMap, script: ScriptParsed): string {
    const key = `${script.scriptId} ${source}`
    const known = this.#files.get(key)
    if (known !== undefined) return known
    // Not in the types: a map may have a root.
    const { sourceRoot = '' } = map.payload as { readonly sourceRoot?: string }
    const nameOf = (name: string): string =>
      attempt(() => this.pathOf(new URL(name, mapBase(script)).href), name)
    const rooted = nameOf(`${sourceRoot.replace(/[^/]$/, '$&/')}${source}`)
    const file = sourceRoot !== '' && existsSync(rooted) ? rooted : nameOf(source)
    this.#files.set(key, file)
    return file
  }

  #mapOf(script: ScriptParsed): SourceMap | undefined {
    const { scriptId, url, sourceMapURL = '' } = script
    if (sourceMapURL === '' || !url.startsWith('file:')) return undefined
    if (!this.#maps.has(scriptId)) this.#maps.set(scriptId, readMap(sourceMapURL, url))
    return this.#maps.get(scriptId)
  }
}

/** A path in one folder as the path of the same file in the other one; others stay. */
const movedPath = (file: string, from: string, to: string): string =>
  file.startsWith(from + path.sep) ? to + file.slice(from.length) : file

const isInstalled = (file: string): boolean => /[\\/]node_modules[\\/]/.test(file)

function* mappedLocations(map: SourceMap): Iterable<{ lineNumber: number; columnNumber: number }> {
  const lines = map.payload.mappings.split(';').length
  for (let lineNumber = 0; lineNumber < lines; lineNumber++) {
    const columns: number[] = []
    for (let column = COLUMN_MAX; column >= 0; column = (columns.at(-1) ?? 0) - 1) {
      const entry = map.findEntry(lineNumber, column)
      if (!('generatedLine' in entry) || entry.generatedLine !== lineNumber) break
      columns.push(entry.generatedColumn)
    }
    for (const columnNumber of columns.toReversed()) yield { lineNumber, columnNumber }
  }
}

const COLUMN_MAX = 2 ** 31 - 1

/** Base URL of the sources in a map. */
const mapBase = ({ url, sourceMapURL = '' }: ScriptParsed): string =>
  sourceMapURL.startsWith('data:') ? url : new URL(sourceMapURL, url).href

/** Without a readable map, positions in the JavaScript are shown. */
function readMap(mapUrl: string, scriptUrl: string): SourceMap | undefined {
  return attempt(() => {
    let text: string
    if (mapUrl.startsWith('data:')) {
      const comma = mapUrl.indexOf(',')
      const data = mapUrl.slice(comma + 1)
      const isBase64 = mapUrl.slice(0, comma).endsWith(';base64')
      text = isBase64 ? Buffer.from(data, 'base64').toString('utf8') : decodeURIComponent(data)
    } else text = readFileSync(new URL(mapUrl, scriptUrl), 'utf8')
    return new SourceMap(JSON.parse(text) as SourceMapPayload)
  })
}
