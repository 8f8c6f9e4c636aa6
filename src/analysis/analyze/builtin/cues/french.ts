/** Words by which French customers are understood. Lower case; they are looked for in one clause. */
import { type Cues, words } from './cues.ts'

export const FRENCH: Cues = {
  bug_report: words(
    "plante|bogue|bug|ne (?:marche|fonctionne|charge|s'ouvre|répond)(?: toujours)? (?:pas|plus)",
    String.raw`marche (?:toujours )?(?:pas|plus)|message d'erreur|erreur \d+`,
    'impossible de (?:me |se )?(?:connecter|ouvrir|télécharger|charger)',
  ),
  feature_request: words(
    "(?:ce )?serait (?:bien|super|génial|utile|pratique|top)|j'aimerais (?:pouvoir|avoir)",
    "il (?:manque|faudrait)|pouvez-vous ajouter|ajoutez|merci d'ajouter",
  ),
  complaint: words(
    'inadmissible|inacceptable|déçue?s?|nul(?:le)?|mécontente?',
    "(?:beaucoup )?trop (?:cher|lent|chère|lente)|personne ne (?:répond|m'a)|aucun (?:retour|réponse)",
    'scandaleux|honteux|lamentable|jamais de réponse',
  ),
  praise: words(
    "excellente?s?|j'adore|génial|je recommande",
    'très (?:satisfaite?|bien|bon|facile|utile|pratique|content)|parfait',
    'super (?:service|appli|produit|outil)|bravo',
  ),
  confusion: words(
    "(?:ne |n')?(?:comprends?|comprend) (?:rien|pas)|pas (?:très )?clair|qu'est-ce que ça veut dire",
    'confus|je suis perdue?',
  ),
  human_requested: words(
    String.raw`parler (?:à|avec) (?:un |une |quelqu'un)(?:\w*)|passez-moi`,
    "un (?:vrai )?(?:conseiller|humain|agent)(?: svp| s'il)?|rappelez-moi",
  ),
  churn_risk: words(
    'résilier|résiliation|(?:changer|changeons) de (?:fournisseur|prestataire)',
    'supprime[rz] (?:mon|notre) compte|passer à la concurrence',
  ),
  wrong_answer: words(
    "c'est (?:faux|incorrect|inexact)|n'est pas (?:correct|vrai|exact|ça)|n'existe pas",
    "vous vous trompez|il n'y a (?:pas|aucun)",
  ),
  repeated_problem: words(
    'toujours (?:pas|le même|la même)|encore (?:une fois|le même|la même)',
    '(?:déjà|deux fois) (?:dit|signalé|essayé)|(?:deuxième|troisième) fois|même (?:problème|erreur)',
  ),
  resolved_confirmation: words(
    "ça (?:marche|fonctionne)(?! (?:pas|toujours|plus))|problème résolu|c'est (?:bon|réglé|résolu)",
    'ça a (?:marché|fonctionné)|trouvé',
  ),
}
