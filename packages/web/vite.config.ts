import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** One classic script, so that it can stand in a page before the data it shows, or in a worker. */
const oneScript = (entry: string, name: string) => ({
  cssCodeSplit: false,
  rolldownOptions: {
    input: source(entry),
    output: {
      format: 'iife' as const,
      codeSplitting: false,
      entryFileNames: `${name}.js`,
      assetFileNames: `${name}[extname]`,
    },
  },
})

/**
 * One application, two builds: the live one (`--mode live`) is split in files that a
 * server hands out; the report is one script and one sheet of styles (`--mode report`)
 * and one worker (`--mode report-worker`) that are put into a page. `--mode receipt` is the
 * script of the page that checks receipts.
 */
export default defineConfig(({ mode }) => ({
  root: source('src/app'),
  // The server that hands out the page puts the path of the assets in.
  base: './',
  plugins: [react(), tailwindcss()],
  resolve: {
    // Sources, so that one build of ours needs no other.
    alias: [
      { find: /^@retake\/tape$/, replacement: source('../tape/src/index.ts') },
      { find: /^@retake\/tape\/(\w+)$/, replacement: source('../tape/src/$1/index.ts') },
    ],
  },
  define: { __REPOSITORY__: JSON.stringify(mode === 'live' ? 'live' : 'report') },
  build: {
    target: 'es2023',
    outDir: source(`dist/${mode}`),
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    ...(mode === 'report' && oneScript('src/app/report.tsx', 'report')),
    ...(mode === 'receipt' && oneScript('src/app/receipt.ts', 'receipt')),
    ...(mode === 'report-worker' && oneScript('src/app/sources/report-worker.ts', 'worker')),
  },
}))
