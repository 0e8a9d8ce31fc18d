/**
 * Builds the viewer: `dist/live` for a server to hand out, `dist/report-page` for
 * report files. Each build appears at once, so whoever serves the old one is not disturbed.
 */
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { packagesOf, thirdPartyNotices } from '../../scripts/third-party-notices.mjs'

const root = fileURLToPath(new URL('.', import.meta.url))
const modes = process.argv.length > 2 ? process.argv.slice(2) : ['live', 'report']
const folders = { live: 'live', report: 'report-page' }

await mkdir(join(root, 'dist'), { recursive: true })
for (const mode of modes) {
  const fresh = await mkdtemp(join(root, 'dist', `.${mode}-`))
  try {
    await chmod(fresh, 0o755)
    const notices = thirdPartyNotices(await buildInto(fresh, mode))
    await writeFile(join(fresh, 'THIRD-PARTY-NOTICES.txt'), notices)
    // A report travels without the package, so the licences stand in its script.
    if (mode === 'report') await putFirst(join(fresh, 'report.js'), `/*!\n${notices}*/\n`)
    await putInPlace(fresh, join(root, 'dist', folders[mode]))
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

/** Gives the folders of the packages that went into the build. */
async function buildInto(folder, mode) {
  const modules = []
  for (const part of mode === 'report' ? ['report', 'report-worker', 'receipt'] : [mode]) {
    const { output } = await build({
      configFile: join(root, 'vite.config.ts'),
      mode: part,
      logLevel: 'warn',
      build: { outDir: folder, emptyOutDir: false },
    })
    modules.push(...output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : [])))
  }
  // Styles are no modules: what they hold of others comes from here.
  const styles = fileURLToPath(import.meta.resolve('tailwindcss/package.json'))
  return packagesOf([...modules, styles])
}

async function putFirst(file, text) {
  if (text.slice(0, -3).includes('*/')) throw new Error('a licence would end its comment')
  await writeFile(file, text + (await readFile(file, 'utf8')))
}

/** Another build may put its own in place between the two moves; then the last one stays. */
async function putInPlace(fresh, target) {
  const old = `${fresh}-old`
  for (let attempt = 1; ; attempt += 1) {
    await rename(target, old).catch(() => {})
    try {
      await rename(fresh, target)
      break
    } catch (error) {
      if (attempt === 10) throw error
    } finally {
      await rm(old, { recursive: true, force: true })
    }
  }
}
