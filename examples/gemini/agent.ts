import { GoogleGenAI, Type } from '@google/genai'
import type { Content, FunctionDeclaration } from '@google/genai'

/** Plans a day: asks for the weather of several cities at once, then recommends one. */
const degrees: Record<string, number> = { Oslo: 4, Lisbon: 19, Zürich: 9 }

const ai = new GoogleGenAI({})
const contents: Content[] = [
  { role: 'user', parts: [{ text: 'Oslo, Lisbon or Zürich: where is it warmest today?' }] },
]
const weather: FunctionDeclaration = {
  name: 'get_weather',
  description: 'Degrees Celsius in a city, now.',
  parameters: {
    type: Type.OBJECT,
    properties: { city: { type: Type.STRING } },
    required: ['city'],
  },
}

for (;;) {
  const parts: NonNullable<Content['parts']> = []
  const stream = await ai.models.generateContentStream({
    model: 'gemini-2.5-flash',
    contents,
    config: { tools: [{ functionDeclarations: [weather] }] },
  })
  for await (const chunk of stream) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
  contents.push({ role: 'model', parts })
  const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
  if (calls.length === 0) {
    console.log(parts.map(({ text }) => text).join(''))
    break
  }
  const results = calls.map(({ name = '', args }) => {
    const city = String(args?.['city'])
    console.log(`${name}(${city}) → ${degrees[city]}`)
    return { functionResponse: { name, response: { degrees: degrees[city] } } }
  })
  contents.push({ role: 'user', parts: results })
}
