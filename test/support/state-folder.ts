import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleChangedPackages } from '../../scripts/bundle.mjs'

/**
 * Brings the bundles up to date, and gives all tests of a run a state folder of their own;
 * tests and the programs they start inherit it.
 */
export default async function setup(): Promise<() => void> {
  await bundleChangedPackages()
  const folder = mkdtempSync(join(tmpdir(), 'retake-state-'))
  process.env['XDG_STATE_HOME'] = folder
  return () => rmSync(folder, { recursive: true, force: true })
}
