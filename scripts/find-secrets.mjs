/**
 * `node scripts/find-secrets.mjs`: looks for credentials in every tracked file and
 * exits with 1 if it finds one. Not promised: text that is compressed or encoded, such
 * as bodies on a packed tape, is not searched.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { keyShapes } from '../packages/tape/dist/index.js'
import { root } from './run-command.mjs'

const AWS_SECRET = /aws_?secret_?access_?key["'\s]*[:=]["'\s]*(?<secret>[A-Za-z0-9/+]{40})\b/gi

/** Files that hold credentials by convention, whatever is in them. */
const SECRET_FILE = /^(\.env(\.(?!example$).*)?|\.netrc|id_(rsa|ed25519|ecdsa)|.*\.(pem|p12|pfx))$/

/** Placeholders of recordings, and passwords in sample URLs that are plain words. */
const SAMPLE = /^(retake-hidden.*|[a-z.-]{1,20})$/

/**
 * Finds credentials in one file.
 *
 * @param {string} path
 * @param {string} text
 * @returns {{ path: string, line: number, why: string }[]} Where they are; never the credential itself.
 */
export function secretsIn(path, text) {
  const found = [...text.matchAll(keyShapes()), ...text.matchAll(AWS_SECRET)]
    .filter((match) => !SAMPLE.test(match.slice(1).findLast((group) => group !== undefined) ?? ''))
    .map(({ index }) => ({
      path,
      line: text.slice(0, index).split('\n').length,
      why: 'looks like a key',
    }))
  if (SECRET_FILE.test(basename(path))) found.push({ path, line: 1, why: 'is a file for secrets' })
  return found
}

function main() {
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  const found = files
    .split('\0')
    .filter((path) => path !== '')
    .flatMap((path) => secretsIn(path, readTracked(path)))
  for (const { path, line, why } of found) console.error(`${path}:${line} ${why}`)
  if (found.length > 0) {
    console.error('Remove it. A key that was ever committed must be revoked.')
    console.error('Tests build sample keys at run time: `sk-${"x".repeat(20)}`.')
    process.exitCode = 1
  }
}

/** Latin-1, so that offsets are bytes and no file fails to decode. A deleted file is empty. */
function readTracked(path) {
  try {
    return readFileSync(join(root, path), 'latin1')
  } catch {
    return ''
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
