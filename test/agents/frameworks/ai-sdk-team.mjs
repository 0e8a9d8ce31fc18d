import { createOpenAI } from '@ai-sdk/openai'
import * as ai from 'ai'
import { z } from 'zod'
import { runTeam } from './ai-sdk-story.mjs'

await runTeam({ ai, createOpenAI, z })
