// Calls and agents of the AI SDK, version 6 or 7, which is handed in: tools that ask a model, an
// agent inside a tool, an object, a stream that is read elsewhere, embeddings; one after the
// other and at once.
export async function runTeam({ ai, createOpenAI, z }) {
  const { embed, generateText, Output, streamText, tool, ToolLoopAgent } = ai
  const stopWhen = (ai.isStepCount ?? ai.stepCountIs)(5)

  // Replaced by the test where steps are named.
  const { telemetryOf = () => ({}), nameAgent = (agent) => agent } = globalThis

  const openai = createOpenAI({ apiKey: 'none', baseURL: `${process.env.AGENT_BASE_URL}/v1` })
  const model = openai.chat('gpt-4.1-mini')
  const inputSchema = z.object({ city: z.string() })

  const ask = async (prompt) => (await generateText({ model, prompt })).text

  const lookUp = tool({
    description: 'looks up',
    inputSchema,
    execute: async ({ city }) => {
      await new Promise((resolve) => setTimeout(resolve, 2))
      return ask(`look up ${city}`)
    },
  })
  const researcher = nameAgent(
    new ToolLoopAgent({ id: 'researcher', model, tools: { look_up: lookUp }, stopWhen }),
  )
  const weather = tool({
    description: 'the weather',
    inputSchema,
    execute: async ({ city }) => {
      const { text } = await researcher.generate({ prompt: `research ${city}` })
      await ask('after the research')
      return text
    },
  })
  const tools = { weather, look_up: lookUp }
  const planner = { model, tools, stopWhen, ...telemetryOf('planner') }

  console.log((await generateText({ ...planner, prompt: 'plan a trip' })).text)

  const streamed = streamText({ ...planner, prompt: 'stream a trip' })
  for await (const piece of streamed.textStream) {
    console.log(piece)
    if (piece.startsWith('answer')) console.log(await ask('between pieces'))
  }

  const agentStream = await researcher.stream({ prompt: 'stream some research' })
  console.log(await agentStream.text)

  const both = await Promise.all([
    generateText({ ...planner, prompt: 'plan another trip' }),
    generateText({ ...planner, ...telemetryOf('critic'), prompt: 'judge the trip' }),
    researcher.generate({ prompt: 'research at once' }),
  ])
  for (const { text } of both) console.log(text)

  const output = Output.object({ schema: z.object({ city: z.string() }) })
  const { output: object } = await generateText({
    model,
    output,
    prompt: 'as an object',
    ...telemetryOf('writer'),
  })
  console.log(object)
  const { embedding } = await embed({
    model: openai.embedding('text-embedding-3-small'),
    value: 'embed this',
    ...telemetryOf('memory'),
  })
  console.log(embedding.length)
  console.log(await ask('outside of all'))
}
