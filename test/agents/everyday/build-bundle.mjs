import { rolldown } from 'rolldown'

const bundle = await rolldown({ input: 'bundle-source.mjs', platform: 'node' })
await bundle.write({ file: 'dist/agent.mjs', format: 'esm', sourcemap: true, minify: true })
