/**
 * `node scripts/screenshots.mjs [folder]`: pictures of the viewer, made with the built
 * command line in real Chromium from the demo's own runs. Without a folder, the pictures
 * that the docs show; with one, every view in light and dark, at 1280 and 1920, and as
 * on a phone.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launchChromium } from './launch-chromium.mjs'
import { root } from './run-command.mjs'
import { startUi } from './start-ui.mjs'

const cli = join(root, 'packages/cli/bin/retake.mjs')
const target = resolve(process.argv[2] ?? join(root, 'docs/images'))
const inDocs = new Set(['run-1280-light', 'blame-1280-light'])

const sizes = {
  1280: { width: 1280, height: 800 },
  1920: { width: 1920, height: 1080 },
  phone: { width: 390, height: 844 },
}

/** Each view with the sizes it is shown in; `open` gets a page that is signed in. */
const views = [
  { name: 'runs', sizes: ['1280', '1920', 'phone'], open: (page, { ui }) => page.goto(ui) },
  { name: 'run', sizes: ['1280', '1920', 'phone'], open: openStep('') },
  {
    name: 'chat',
    sizes: ['1280', '1920', 'phone'],
    open: (page, { ui, run }) => page.goto(new URL(`/runs/${run}?step=7&tab=chat`, ui).href),
  },
  {
    name: 'search',
    sizes: ['1280'],
    open: async (page, demo) => {
      await openStep('')(page, demo)
      await page.waitForTimeout(1000)
      await page.keyboard.press('/')
      await page.keyboard.type('60 days')
    },
  },
  { name: 'state', sizes: ['1280'], open: openStep('&tab=state') },
  { name: 'branches', sizes: ['1280', '1920', 'phone'], open: openRun('/branches') },
  {
    name: 'compare',
    sizes: ['1280', '1920', 'phone'],
    open: (page, { ui, run, branch }) => page.goto(new URL(`/compare/${run}/${branch}`, ui).href),
  },
  {
    name: 'fork',
    sizes: ['1280'],
    open: async (page, demo) => {
      await openStep('')(page, demo)
      await page.waitForTimeout(1000)
      await page.keyboard.press('f')
    },
  },
  {
    name: 'palette',
    sizes: ['1280'],
    open: async (page, demo) => {
      await openStep('')(page, demo)
      await page.waitForTimeout(1000)
      await page.keyboard.press('Control+k')
    },
  },
  {
    name: 'blame',
    sizes: ['1280', '1920', 'phone'],
    open: (page, { ui, blamed }) => page.goto(new URL(`/runs/${blamed}?list=blame`, ui).href),
  },
  {
    name: 'report',
    sizes: ['1280', '1920', 'phone'],
    open: (page, { report, run, step }) =>
      page.goto(`${pathToFileURL(report).href}#/runs/${run}?step=${step}`),
  },
  {
    name: 'components',
    sizes: ['1280'],
    open: (page, { ui }) => page.goto(new URL('/components', ui).href),
  },
]

function openRun(path) {
  return (page, { ui, run }) => page.goto(new URL(`/runs/${run}${path}`, ui).href)
}

function openStep(more) {
  return async (page, { ui, run, step }) => {
    await page.goto(new URL(`/runs/${run}?step=${step}${more}`, ui).href)
  }
}

const folder = await mkdtemp(join(tmpdir(), 'retake-screenshots-'))
await mkdir(target, { recursive: true })
const demo = JSON.parse(await retake(['demo', '--json']))
await retake(['debug', 'snapshot', demo.run])
const report = join(folder, 'report.html')
await retake(['report', demo.run, '-o', report])
// It exits with 3 where it has found a cause.
const blamed = JSON.parse(await retake(['blame', '--demo', '--yes', '--json'], 3)).run
const ui = await startUi(folder)
const browser = await launchChromium()
try {
  for (const view of views) {
    for (const size of view.sizes) {
      for (const theme of ['light', 'dark']) {
        const isWanted =
          process.argv[2] !== undefined || inDocs.has(`${view.name}-${size}-${theme}`)
        if (isWanted) await take(view, size, theme)
      }
    }
  }
} finally {
  await browser.close()
  await ui.stop()
  await rm(folder, { recursive: true, force: true })
}

async function take({ name, open }, size, theme) {
  const context = await browser.newContext({
    viewport: sizes[size],
    colorScheme: theme,
    reducedMotion: 'reduce',
    isMobile: size === 'phone',
  })
  const page = await context.newPage()
  await page.goto(ui.url)
  await open(page, { ...demo, ui: ui.url, report, blamed })
  await page.waitForTimeout(1500)
  const file = join(target, `${name}-${size}-${theme}.png`)
  await page.screenshot({ path: file })
  console.log(file)
  await context.close()
}

async function retake(args, expected = 0) {
  const child = spawn(process.execPath, [cli, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  if (code !== expected) throw new Error(`retake ${args[0]} ended with ${code}`)
  return output
}
