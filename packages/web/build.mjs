/**
 * Builds the viewer: `dist/live` for a server to hand out, `dist/report-page` for
 * report files. Each build appears at once, so whoever serves the old one is not disturbed.
 */
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = fileURLToPath(new URL('.', import.meta.url))
const modes = process.argv.length > 2 ? process.argv.slice(2) : ['live', 'report']
const folders = { live: 'live', report: 'report-page' }

for (const mode of modes) {
  const target = join(root, 'dist', folders[mode])
  const fresh = await mkdtemp(join(root, 'dist', `.${mode}-`))
  try {
    for (const part of mode === 'report' ? ['report', 'report-worker'] : [mode])
      await build({
        configFile: join(root, 'vite.config.ts'),
        mode: part,
        logLevel: 'warn',
        build: { outDir: fresh, emptyOutDir: false },
      })
    const old = `${fresh}-old`
    await rename(target, old).catch(() => {})
    await rename(fresh, target)
    await rm(old, { recursive: true, force: true })
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}
