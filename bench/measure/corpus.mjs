import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url))

/** Twins of a file in another module format or build are left out: agents do not read everything twice. */
const BUILD_FOLDERS = /\/(?:src|lib|dist|esm|cjs|build)(?=\/)/g

/**
 * Text that people wrote, prose and source, to fill messages with: the
 * documents and sources of the packages the lock file pins. About 25 MB.
 *
 * @returns {{ prose: string, source: string }}
 */
export function readCorpus() {
  const seen = new Set()
  const texts = { prose: [], source: [] }
  for (const path of textFiles(packages)) {
    const stem = path.replace(/\.\w+$/, '').replaceAll(BUILD_FOLDERS, '')
    if (seen.has(stem)) continue
    seen.add(stem)
    const text = readFileSync(path, 'utf8')
    const isMinified = text.length / text.split('\n').length > 120
    if (!isMinified) texts[path.endsWith('.md') ? 'prose' : 'source'].push(text)
  }
  const used = new Set()
  return { prose: withoutRepeats(texts.prose, used), source: withoutRepeats(texts.source, used) }
}

/** Licences, copied functions and generated code would otherwise repeat by chance what the run did not. */
function withoutRepeats(texts, used) {
  const lines = texts.flatMap((text) => text.split('\n'))
  return lines
    .filter((line) => {
      const words = line.trim()
      if (words.length < 12) return true
      const isNew = !used.has(words)
      used.add(words)
      return isNew
    })
    .join('\n')
}

/** @param {string} folder @returns {Generator<string>} Always in the same order. */
function* textFiles(folder) {
  const entries = readdirSync(folder, { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !entry.name.startsWith('.')) yield* textFiles(path)
    const isText =
      entry.isFile() &&
      /\.(?:md|ts|[cm]?js)$/.test(entry.name) &&
      !/\.d\.[cm]?ts$|\.min\./.test(entry.name)
    if (!isText) continue
    const { size } = statSync(path)
    if (size >= 2000 && size <= 200_000) yield path
  }
}

/**
 * Hands out pieces of a text, from random places and each at most once: what is
 * said twice in a conversation must come from the conversation, not from chance.
 *
 * @param {string} text
 * @param {() => number} random
 * @returns {(length: number) => string}
 */
export function sliceWithoutRepeating(text, random) {
  const blockLength = 25_000
  const count = Math.floor(text.length / blockLength)
  const starts = Array.from({ length: count }, (_, index) => index * blockLength)
  let at = 0
  let end = 0
  return (length) => {
    if (at + length > end) {
      const [start] = starts.splice(Math.floor(random() * starts.length), 1)
      if (start === undefined) throw new Error('the corpus is too small for this bench')
      at = start
      end = start + blockLength
    }
    at += length
    return text.slice(at - length, at)
  }
}
