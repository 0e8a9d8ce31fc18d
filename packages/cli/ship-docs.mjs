/**
 * Puts the documentation into the package while it is packed (`prepack`), and takes it
 * out again (`postpack`): in the checkout there is only one copy, the one that is written.
 * Pictures, decisions and links to what is not in the package stay behind.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const from = fileURLToPath(new URL('../../docs', import.meta.url))
const to = fileURLToPath(new URL('docs', import.meta.url))
const fresh = `${to}-${process.pid}`
/** The folders whose pages are shipped. */
const parts = ['', 'errors']

if (process.argv[2] === 'remove') rmSync(to, { recursive: true, force: true })
else {
  for (const part of parts) {
    mkdirSync(join(fresh, part), { recursive: true })
    for (const file of readdirSync(join(from, part)).filter((each) => each.endsWith('.md')))
      writeFileSync(join(fresh, part, file), shipped(join(from, part, file)))
  }
  rmSync(to, { recursive: true, force: true })
  renameSync(fresh, to)
}

/** A link that leads out of the package, or to a picture, is only its words. */
function shipped(file) {
  return readFileSync(file, 'utf8')
    .replaceAll(/^!\[[^\]]*\]\([^)]*\)\n+/gm, '')
    .replaceAll(/\[([^\]]*)\]\(([^)#]+)(#[^)]*)?\)/g, (link, words, target) => {
      if (/^\w+:/.test(target)) return link
      const path = join(dirname(file), target)
      const isShipped = parts.some((part) => dirname(path) === join(from, part))
      return isShipped && existsSync(path) ? link : words
    })
}
