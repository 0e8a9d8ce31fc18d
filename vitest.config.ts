import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

// Node 20 reads these certificates whenever it starts, which takes longer than the rest of its
// start. Tests talk to this machine only, with certificates of their own.
delete process.env['NODE_EXTRA_CA_CERTS']

/** Tests must not touch what Retake remembers about the real user. */
const globalSetup = 'test/support/state-folder.ts'

/** `npm run soak`: full matrices and repetitions. */
const soak = process.env['RETAKE_SOAK'] === '1'

/** Files that load Playwright, which takes longer than most of their tests. */
const viewerTests = ['test/web/**/*.test.ts', 'test/server/{pages,sign-on}.test.ts']

/** Files that use Retake in their own process, and so have one for themselves. */
const isolatedTests = [
  // Another file of the process may have loaded p-queue without Retake.
  'packages/engine/src/boundaries/shared/shared-queues.test.ts',
  'test/{guard,frameworks}/**/*.test.ts',
  'test/cli/{audit,imported-runs,interop,jest-matcher,policy,receivers}.test.ts',
  'test/engine/{answer-from,current-recording,environment,framework-scopes}.test.ts',
  'test/engine/{mcp-secrets,outside-signals,returned-streams,shared-*}.test.ts',
  'test/engine/written-more.test.ts',
  'test/server/team-approvals.test.ts',
]

const systemTests = {
  // Node loads the built packages itself; Vite would transform them for each file.
  server: { deps: { external: [/\/packages\/\w+\/(?:bundle|dist)\//] } },
  // These wait for processes most of the time: with three files at a time, an eighth of two
  // cores is idle.
  maxWorkers: 4,
  maxConcurrency: 2,
  // Ends what hangs. How long a test may take on a busy machine is another question.
  testTimeout: soak ? 3_600_000 : 600_000,
  hookTimeout: 600_000,
  sequence: { groupOrder: 1 },
}

/** Small files that take long. Vitest starts large files first, and these would be the last. */
const SLOW = /\/(?:simulation|scenarios|timeline|sqlite|langgraph-checkpointer)\.test\.ts$/

/** Starts slow files first, and files that share a process one after the other. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      if (project.name === 'viewer') return 3
      if (project.name === 'isolated') return 2
      return SLOW.test(moduleId) ? 0 : 1
    }
    // oxlint-disable-next-line unicorn/no-array-sort -- not a method of an array
    const sorted = await super.sort(files)
    return [0, 1, 2, 3].flatMap((wanted) => sorted.filter((file) => rank(file) === wanted))
  }
}

export default defineConfig({
  test: {
    // A second, which polls have by themselves, is not enough on a busy machine.
    expect: { poll: { timeout: 90_000 } },
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        extends: true,
        resolve: {
          // Unit tests import sources, across packages too, so that they need no build.
          alias: [
            { find: /^@retake\/(\w+)$/, replacement: source('$1/src/index.ts') },
            { find: '@retake/engine/errors', replacement: source('engine/src/errors.ts') },
            { find: '@retake/engine/schema', replacement: source('engine/src/schema.ts') },
            {
              find: /^@retake\/runner\/(errors|package-root|read-part|record|recording-summary|replay-here|temporary-folder)$/,
              replacement: source('runner/src/$1.ts'),
            },
            { find: /^@retake\/(\w+)\/([\w-]+)$/, replacement: source('$1/src/$2/index.ts') },
          ],
        },
        test: {
          name: 'unit',
          // Fewer collections of young objects: 8 % less processor time.
          execArgv: ['--max-semi-space-size=64'],
          globalSetup,
          include: ['packages/**/src/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...isolatedTests],
          maxWorkers: 2,
          // Loading modules anew for each file takes longer than the tests themselves.
          isolate: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          ...systemTests,
          name: 'system',
          globalSetup,
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...viewerTests, ...isolatedTests],
          isolate: false,
          setupFiles: 'test/support/shared-process.ts',
        },
      },
      {
        extends: true,
        test: { ...systemTests, name: 'isolated', globalSetup, include: isolatedTests },
      },
      {
        extends: true,
        test: {
          ...systemTests,
          name: 'viewer',
          globalSetup: [globalSetup, 'test/web/support/shared-fixtures.ts'],
          include: viewerTests,
          isolate: false,
        },
      },
    ],
  },
})
