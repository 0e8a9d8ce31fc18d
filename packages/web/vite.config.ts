import { fileURLToPath } from 'node:url'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * One application, two builds (`--mode live` and `--mode report`): the live one is
 * split in files that a server hands out, the report is one script, one worker and
 * one sheet of styles that are put into a page.
 */
export default defineConfig(({ mode }) => ({
  root: source('src/app'),
  base: mode === 'live' ? '/' : './',
  plugins: [react(), tailwindcss()],
  resolve: {
    // Sources, so that one build of ours needs no other.
    alias: [
      { find: /^@retake\/tape$/, replacement: source('../tape/src/index.ts') },
      { find: /^@retake\/tape\/browser$/, replacement: source('../tape/src/browser/index.ts') },
    ],
  },
  define: { __HOME__: JSON.stringify(mode) },
  build: {
    target: 'es2023',
    outDir: source(`dist/${mode}`),
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    ...(mode === 'report' && {
      cssCodeSplit: false,
      rolldownOptions: {
        input: source('src/app/report.html'),
        output: {
          codeSplitting: false,
          entryFileNames: 'report.js',
          assetFileNames: 'report[extname]',
        },
      },
    }),
  },
  worker: { format: 'iife' },
}))
