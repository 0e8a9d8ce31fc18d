// Spans around model calls, as an instrumented server makes them. A replay has no provider.
import 'retake'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { trace } from '@opentelemetry/api'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

const spanProcessors = [new SimpleSpanProcessor(new InMemorySpanExporter())]
if (process.argv[2] === 'record')
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }))

const agent = async (question) => {
  const span = trace.getTracer('server').startSpan(question)
  const answer = await ask(question)
  span.end()
  return `${answer} ${Math.random()}`
}

await main(agent, async () => {
  const server = createServer(async (request, response) => {
    response.end(await handled(agent, new URL(request.url, 'http://host').searchParams.get('q')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() }
})
