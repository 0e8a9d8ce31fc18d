/**
 * The part that all recorded servers share. `node <server> record` starts it,
 * sends three requests at the same time and writes down the tapes;
 * `node <server> replay` replays each of them without a server.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { record, replay } from 'retake'

const tapes = []

/** Handles one request inside a run of its own. */
export async function handled(agent, question) {
  const { output, run } = await record({ name: 'chat' }, () => agent(question))
  tapes.push({ question, path: run.path })
  return output
}

export async function main(agent, listen) {
  if (process.argv[2] === 'replay') {
    for (const { question, path } of JSON.parse(await readFile('tapes.json', 'utf8'))) {
      const { output } = await replay(path, () => agent(question))
      console.log(question, await textOf(output))
    }
    return
  }
  const { url, close } = await listen()
  const questions = ['first', 'second', 'third']
  const answers = await Promise.all(
    questions.map(async (question) => (await fetch(`${url}/?q=${question}`)).text()),
  )
  await close()
  const inOrder = questions.map((question) => tapes.find((tape) => tape.question === question))
  await writeFile('tapes.json', JSON.stringify(inOrder))
  for (const [index, question] of questions.entries()) console.log(question, answers[index])
}

const textOf = (output) => (output instanceof Response ? output.text() : output)
