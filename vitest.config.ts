import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(`packages/${path}`, import.meta.url))

/** Tests must not touch what Retake remembers about the real user. */
const globalSetup = 'test/support/state-folder.ts'

/** `npm run soak`: full matrices and repetitions. */
const soak = process.env['RETAKE_SOAK'] === '1'

export default defineConfig({
  test: {
    // A second, which polls have by themselves, is not enough on a busy machine.
    expect: { poll: { timeout: 90_000 } },
    projects: [
      {
        extends: true,
        resolve: {
          // Unit tests import sources, across packages too, so that they need no build.
          alias: [
            { find: /^@retake\/(\w+)$/, replacement: source('$1/src/index.ts') },
            { find: '@retake/engine/errors', replacement: source('engine/src/errors.ts') },
            { find: /^@retake\/(\w+)\/(\w+)$/, replacement: source('$1/src/$2/index.ts') },
          ],
        },
        test: {
          name: 'unit',
          globalSetup,
          include: ['packages/**/src/**/*.test.ts'],
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
          name: 'system',
          globalSetup: [globalSetup, 'test/web/support/shared-fixtures.ts'],
          include: ['test/**/*.test.ts'],
          // Node loads the built packages itself; Vite would transform them for each file.
          server: { deps: { external: [/\/packages\/\w+\/(?:bundle|dist)\//] } },
          // These wait for processes most of the time. With two files at a time, a sixth of two
          // cores is idle; with four, time limits inside tests are reached.
          maxWorkers: 3,
          maxConcurrency: 2,
          // Ends what hangs. How long a test may take on a busy machine is another question.
          testTimeout: soak ? 3_600_000 : 600_000,
          hookTimeout: 600_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
