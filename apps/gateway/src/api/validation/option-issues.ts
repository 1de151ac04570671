/** Issues of the options of a format, by the rules of `libs/formats`. */
import { readSelectors } from '@troupe/content';
import { type Options, type Rule } from '@troupe/formats';
import { checkSelector } from '@troupe/html';
import { isPlainObject, listIssues, numberIssues, textIssues } from './fields.js';
import { customIssue, notInEnum, notOffered, under, wrongType, type Issue } from './issue.js';
import { jsonSchemaIssues } from './json-schema.js';

/** Issues of the options that were sent, and of required ones that were not. */
export function optionIssues(options: Options, words: Record<string, unknown>): Issue[] {
  return Object.entries(options).flatMap(([name, rule]) => {
    const value = words[name];
    if (rule.is === 'notOffered') return value === true ? [notOffered(name, [name])] : [];
    const isAbsent = !rule.required && (value === undefined || value === null);
    return isAbsent ? [] : under([name], ruleIssues(rule, value));
  });
}

function ruleIssues(rule: Rule, value: unknown): Issue[] {
  switch (rule.is) {
    case 'text':
      return textIssues(value, rule);
    case 'wholeNumber':
      return numberIssues(value, { min: rule.min, max: rule.max });
    case 'flag':
      return typeof value === 'boolean' ? [] : [wrongType('boolean', value)];
    case 'word':
      return rule.of.includes(value as string) ? [] : [notInEnum(rule.of, value)];
    case 'list':
      return listIssues(value, (item) => ruleIssues(rule.of, item), { maxItems: rule.maxItems });
    case 'object':
      return isPlainObject(value) ? optionIssues(rule.of, value) : [wrongType('object', value)];
    case 'selector':
      return selectorIssues(value);
    case 'selectors':
      return selectorsIssues(value);
    case 'jsonSchema':
      return jsonSchemaIssues(value, rule);
    case 'refused':
      return [customIssue(rule.because)];
    case 'notOffered':
      return [];
  }
}

/** Finds an unusable selector before a page is fetched. */
function selectorIssues(value: unknown): Issue[] {
  const issues = textIssues(value, { minLength: 1 });
  const problem = issues.length > 0 ? null : checkSelector(value as string);
  return problem === null ? issues : [customIssue(problem)];
}

function selectorsIssues(value: unknown): Issue[] {
  const read = readSelectors(value);
  return 'problems' in read ? read.problems.map(({ path, message }) => customIssue(message, path)) : [];
}
