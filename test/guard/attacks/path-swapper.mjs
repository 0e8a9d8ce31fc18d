/**
 * Replaces a file, a folder and two missing folders with links that lead out, again and again, until
 * it is ended. The tool creates one of the missing folders, which is then moved away.
 */
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , root, outside] = process.argv
const at = (...names) => join(root, ...names)
mkdirSync(at('folder'), { recursive: true })
writeFileSync(at('folder', 'file.txt'), 'inside')
writeFileSync(at('file.txt'), 'inside')
symlinkSync(outside, at('folder-link'))
symlinkSync(join(outside, 'file.txt'), at('file-link'))
symlinkSync(outside, at('gone-link'))
symlinkSync(outside, at('missing-link'))
process.send('ready')
const swap = (one, other) => {
  renameSync(at(one), at('held'))
  renameSync(at(other), at(one))
  renameSync(at('held'), at(other))
}
let removed = 0
const attempt = (work) => {
  try {
    work()
  } catch {
    // The tool created the missing folder meanwhile, or did not.
  }
}
for (;;) {
  // Turned off and on at odd places, so that every moment between a look and a use is hit.
  for (let round = 0; round < 50; round++) {
    swap('file.txt', 'file-link')
    swap('folder', 'folder-link')
    renameSync(at('gone-link'), at('gone'))
    renameSync(at('gone'), at('gone-link'))
    attempt(() => {
      renameSync(at('missing-link'), at('missing'))
      renameSync(at('missing'), at('missing-link'))
    })
    attempt(() => renameSync(at('missing'), at(`removed-${(removed += 1)}`)))
  }
}
