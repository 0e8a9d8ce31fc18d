import { createOpenAI } from '@ai-sdk/openai'
import * as ai from 'ai'
import { z } from 'zod'
import { runTeam } from '../../agents/frameworks/ai-sdk-story.mjs'

globalThis.setUp?.(ai)
await runTeam({ ai, createOpenAI, z })
