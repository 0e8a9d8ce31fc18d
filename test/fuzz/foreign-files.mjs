/** Traces of other tools, as files that `retake import` reads. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { READERS } from './readers.mjs'

const at = '2026-11-01T10:00:00.000Z'
const trace = 'a'.repeat(32)
const span = 'b'.repeat(16)
const later = '2026-11-01T10:00:01.000Z'

export async function foreignFiles(tapes, folder) {
  const work = path.join(folder, 'foreign')
  mkdirSync(work)
  const files = []
  for (const tape of tapes.slice(0, 2)) {
    const file = path.join(work, 'run-1.tape')
    writeFileSync(file, tape)
    for (const format of ['otlp-json', 'har']) {
      await READERS[`export ${format}`].read(file, { out: work })
      files.push({ name: `${format}.json`, text: readFileSync(path.join(work, 'x'), 'utf8') })
    }
    await READERS['export otlp-protobuf'].read(file, { out: work })
    files.push({ name: 'otlp.pb', bytes: readFileSync(path.join(work, 'x')) })
  }
  rmSync(work, { recursive: true })
  const messages = [{ role: 'user', content: 'a' }]
  const others = {
    langfuse: {
      id: 't',
      name: 'n',
      timestamp: at,
      observations: [
        {
          id: 'o',
          traceId: 't',
          type: 'GENERATION',
          name: 'g',
          startTime: at,
          endTime: later,
          model: 'gpt-4o',
          input: messages,
          output: { role: 'assistant', content: 'b' },
          usage: { input: 1, output: 2 },
        },
      ],
    },
    langsmith: {
      id: '11111111-1111-4111-8111-111111111111',
      trace_id: '11111111-1111-4111-8111-111111111111',
      run_type: 'llm',
      name: 'n',
      start_time: at,
      end_time: later,
      inputs: { messages },
      outputs: { generations: [] },
      dotted_order: 'a.b',
    },
    trail: {
      trace_id: trace,
      spans: [
        {
          trace_id: trace,
          span_id: span,
          span_name: 'n',
          timestamp: at,
          duration: 'PT1S',
          span_attributes: { 'llm.model_name': 'gpt-4o' },
          child_spans: [],
        },
      ],
    },
    openinference: {
      name: 'n',
      context: { trace_id: trace, span_id: span },
      parent_id: null,
      start_time: at,
      end_time: later,
      status_code: 'OK',
      attributes: { 'openinference.span.kind': 'LLM', 'input.value': 'a' },
    },
    agentrr: [
      {
        kind: 'header',
        log_format_version: '1.0',
        run_id: 'run-7',
        sdk_version: '0.1.0',
        entrypoint: 'agent:main',
      },
      {
        run_id: 'run-7',
        event_id: 'e-2',
        seq: 1,
        parent_id: null,
        ts_wall: at,
        status: 'ok',
        error: null,
        integrity: 'a',
        type: 'llm_call',
        request: { model: 'gpt-5', messages, params: {} },
        response: { content: 'b', finish_reason: 'stop', tool_calls: [] },
        meta: { duration_ms: 12 },
      },
    ],
  }
  for (const [name, value] of Object.entries(others))
    files.push({
      name: `${name}.json`,
      text: [value]
        .flat()
        .map((each) => JSON.stringify(each))
        .join('\n'),
    })
  return files
}
