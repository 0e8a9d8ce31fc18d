import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Writes until the disk has no free block. */
export function fillUp(file: string): void {
  const handle = openSync(file, 'w')
  try {
    for (const block = Buffer.alloc(4096); ;) writeSync(handle, block)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  } finally {
    closeSync(handle)
  }
}

/** A folder on a disk of its own; undefined without the right to mount one. */
export function smallDisk(
  size: string,
): { readonly outer: string; readonly disk: string } | undefined {
  const outer = mkdtempSync(path.join(tmpdir(), 'retake-full-'))
  chmodSync(outer, 0o711)
  const disk = path.join(outer, 'disk')
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0711`, 'tmpfs', disk], {
      stdio: 'ignore',
    })
  } catch {
    rmSync(outer, { recursive: true })
    return undefined
  }
  return { outer, disk }
}

export function removeDisk({
  outer,
  disk,
}: {
  readonly outer: string
  readonly disk: string
}): void {
  execFileSync('umount', ['-l', disk])
  rmSync(outer, { recursive: true, force: true })
}
