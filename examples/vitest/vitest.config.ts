import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // The SDK wants a key to be there; a replay does not need a real one.
    env: { OPENAI_API_KEY: process.env['OPENAI_API_KEY'] || 'for-replay' },
  },
})
