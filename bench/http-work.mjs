import { createHash } from 'node:crypto'
import http from 'node:http'

/**
 * The work every recorder is measured with: JSON posts one after another, each
 * with the conversation so far, as an agent sends them.
 *
 * @param {object} options
 * @param {string} options.url Base URL of the loopback server.
 * @param {'fetch' | 'http'} options.client
 * @param {number} options.count How many posts.
 * @returns {Promise<{ ms: number, digest: string }>} The time it took, and a
 *   digest of all answers: equal digests mean equal answers in equal order.
 */
export async function runHttpWork({ url, client, count }) {
  const post = client === 'fetch' ? postWithFetch : postWithHttp
  const digest = createHash('sha256')
  const messages = []
  const started = performance.now()
  for (let index = 0; index < count; index++) {
    messages.push({ role: 'user', content: `question ${index}: ${'context '.repeat(20)}` })
    const body = JSON.stringify({ model: 'gpt-example', messages })
    const text = await post(`${url}/json`, body)
    digest.update(text)
    // Answers stay out of the next question: bodies must be equal in every run.
    JSON.parse(text)
  }
  return { ms: performance.now() - started, digest: digest.digest('hex') }
}

async function postWithFetch(url, body) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  return response.text()
}

function postWithHttp(url, body) {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }
    const request = http.request(url, { method: 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(text))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
